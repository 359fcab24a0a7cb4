// SPDX-License-Identifier: Apache-2.0
// The stand-in's state: GPUs whose memory is anonymous shared files, and whose streams are the
// queues of queues.hpp.
#pragma once

#include <cuda.h>

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "tests/device/cuda/stand_in/hooks.hpp"
#include "tests/device/cuda/stand_in/queues.hpp"

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
  std::recursive_mutex mu;              // work runs under it, and asks what is reachable
  std::condition_variable_any changed;  // work was queued, run or let go
  std::map<CUmemGenericAllocationHandle, int> allocations;  // -> memfd
  CUmemGenericAllocationHandle last_handle = 0;
  Ranges reservations, mappings, accessible, registrations,
      linear,   // cuMemAlloc, cuMemHostAlloc
      engines;  // reservations of the engine's own
  std::map<CUstream, std::shared_ptr<Queue>> streams;
  std::map<CUcontext, std::shared_ptr<Queue>> legacy;
  std::vector<CUstream> freed;                 // a driver gives such handles again
  std::vector<std::shared_ptr<Queue>> queues;  // all, also of destroyed streams until they ran
  std::map<CUevent, EventState> events;
  std::map<std::uint64_t, std::shared_ptr<bool>> gates;  // -> open
  std::uintptr_t last_object = 0x1000;
  std::size_t contexts = 0;
  bool capturing = false, blocking_capture = false;
  std::mt19937 random{1};
  bool tolerant = false;
  std::size_t complaints = 0;
  std::map<std::string, Fault> faults;
  std::map<std::string, std::size_t> calls;
};
World& world();  // never destroyed

struct Thread {
  std::vector<CUcontext> contexts;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
};
Thread& thread();

inline CUcontext context_of(CUdevice device) {
  return reinterpret_cast<CUcontext>(static_cast<std::uintptr_t>(0x70 + device));
}

using Lock = std::unique_lock<std::recursive_mutex>;

// Counts a call and says whether it is to fail. With `in_context` it must be made in one.
CUresult enter(const char* name, bool in_context = true);

// What a real driver may punish with anything: see Hooks::tolerate.
void complain(const std::string& what);

// The range of `ranges` around `address`, or ranges.end().
Ranges::const_iterator around(const Ranges& ranges, Address address);
bool reachable(Address address, std::size_t bytes);  // by a kernel. Under mu.
bool pageable(Address address);                      // host memory that nobody locked

// The driver's function of that name; null where the stand-in has none.
void* memory_function(const std::string& name);
void* stream_function(const std::string& name);
void* work_function(const std::string& name);

#define AQUA_ENTER(name) \
  Lock lock(world().mu); \
  if (const CUresult entered = enter(name); entered != CUDA_SUCCESS) return entered

}  // namespace aqua::stand_in
