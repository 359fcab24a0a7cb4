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

constexpr std::size_t kGranule = std::size_t{2} << 20;

using Address = std::uintptr_t;
using Ranges = std::map<Address, Address>;  // begin -> end

// A piece of device memory: taken from Variant::memory_bytes until nobody holds it.
class Physical {
 public:
  explicit Physical(std::size_t bytes);
  ~Physical();
  Physical(const Physical&) = delete;
  Physical& operator=(const Physical&) = delete;

 private:
  const std::size_t bytes_;
};
struct Allocation {
  int fd = -1;
  std::shared_ptr<Physical> memory{};  // null for an import, which is its owner's
};

struct Fault {
  unsigned good = 0, times = 0;
  CUresult result = CUDA_SUCCESS;
};

struct World {
  std::recursive_mutex mu;              // work runs under it, and asks what is reachable
  std::condition_variable_any changed;  // work was queued, run or let go
  Variant variant;
  std::uint64_t now_ns = 0;  // of the threads that call
  std::map<CUcontext, Engines> gpus;
  std::size_t blocked = 0;  // calls, by full queues
  std::map<CUmemGenericAllocationHandle, Allocation> allocations;
  std::map<Address, std::shared_ptr<Physical>> held;  // by mappings and linear memory
  std::size_t used = 0;                               // bytes of device memory
  CUmemGenericAllocationHandle last_handle = 0;
  Ranges reservations, mappings, accessible, registrations,
      backed,                           // of `mappings`, what is memory
      read_only,                        // of `accessible`
      elsewhere,                        // of `registrations`: at another address on the device
      linear,                           // cuMemAlloc
      locked,                           // cuMemHostAlloc
      engines;                          // reservations of the engine's own
  std::map<Address, CUcontext> owners;  // of linear, locked, registered and mapped memory
  std::map<CUstream, std::shared_ptr<Queue>> streams;
  std::map<CUcontext, std::shared_ptr<Queue>> legacy;
  std::vector<CUstream> freed;                 // a driver gives such handles again
  std::vector<std::shared_ptr<Queue>> queues;  // all, also of destroyed streams until they ran
  std::map<CUevent, EventState> events;
  std::map<std::uint64_t, std::shared_ptr<Gate>> gates;
  std::uintptr_t last_object = 0x1000;
  std::uint64_t last_task = 0;
  std::map<CUcontext, std::size_t> contexts;  // -> holders
  std::map<CUcontext, CUresult> ended;        // by a fault: what all calls answer
  const Queue* running = nullptr;             // whose work runs now
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

inline CUdevice device_of(CUcontext context) {
  return static_cast<CUdevice>(reinterpret_cast<std::uintptr_t>(context) - 0x70);
}

using Lock = std::unique_lock<std::recursive_mutex>;

// Counts a call, lets it take its time, and says whether it is to fail. With `in_context` it must
// be made in one that has not ended.
CUresult enter(const char* name, bool in_context = true);

// The error by which the context ended; success while it has not.
CUresult state_of(CUcontext context);
// What the calling thread's calls are made in; of a test's own thread, which has none, the first.
CUcontext current_context();
// The context's last holder has gone: it may be made anew.
void bury(CUcontext context);

// What a real driver may punish with anything: see Hooks::tolerate. Ends the context of the work
// that runs, if any does.
void complain(const std::string& what);

// The range of `ranges` around `address`, or ranges.end().
Ranges::const_iterator around(const Ranges& ranges, Address address);
bool reachable(Address address, std::size_t bytes);  // by a kernel. Under mu.
bool writable(Address address, std::size_t bytes);   // as well
bool on_device(Address address);                     // no host memory
bool pageable(Address address);                      // host memory that nobody locked

// The driver's function of that name; null where the stand-in has none.
void* memory_function(const std::string& name);
void* pointer_function(const std::string& name);
void* stream_function(const std::string& name);
void* work_function(const std::string& name);

#define AQUA_ENTER(name) \
  Lock lock(world().mu); \
  if (const CUresult entered = enter(name); entered != CUDA_SUCCESS) return entered

}  // namespace aqua::stand_in
