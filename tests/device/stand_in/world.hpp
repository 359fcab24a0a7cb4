// The stand-in's state: GPUs whose memory is anonymous shared files, and whose streams run work
// the moment it is posted.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "device/stand_in/hooks.hpp"

namespace aqua::stand_in {

constexpr std::size_t kTotal = std::size_t{64} << 30;
constexpr std::size_t kGranule = std::size_t{2} << 20;

using Address = std::uintptr_t;
using Ranges = std::map<Address, Address>;  // begin -> end

struct Fault {
  unsigned good = 0, times = 0;
  CUresult result = CUDA_SUCCESS;
};

struct World {
  std::mutex mu;
  std::map<CUmemGenericAllocationHandle, int> allocations;  // -> memfd
  CUmemGenericAllocationHandle last_handle = 0;
  Ranges reservations, mappings, accessible, registrations,
      linear,   // cuMemAlloc, cuMemHostAlloc
      engines;  // reservations of the engine's own
  std::set<CUstream> streams, capturing;
  std::map<CUevent, bool> events;  // -> reached
  std::uintptr_t last_object = 0x1000;
  std::size_t contexts = 0;
  bool stalled = false;
  std::map<std::string, Fault> faults;
  std::map<std::string, std::size_t> calls;
};
World& world();  // never destroyed

struct Thread {
  std::vector<CUcontext> contexts;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
};
Thread& thread();

// Counts a call and says whether it is to fail. With `in_context` it must be made in one.
CUresult enter(const char* name, bool in_context = true);

// The range of `ranges` around `address`, or ranges.end().
Ranges::const_iterator around(const Ranges& ranges, Address address);
bool reachable(Address address, std::size_t bytes);  // by a kernel. Under mu.

// The driver's function of that name; null where the stand-in has none.
void* memory_function(const std::string& name);
void* stream_function(const std::string& name);

#define AQUA_ENTER(name)                              \
  const std::lock_guard<std::mutex> lock(world().mu); \
  if (const CUresult entered = enter(name); entered != CUDA_SUCCESS) return entered

}  // namespace aqua::stand_in
