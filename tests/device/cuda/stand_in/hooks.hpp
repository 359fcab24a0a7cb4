// SPDX-License-Identifier: Apache-2.0
// What tests ask of the stand-in, and make it do. Found by name in the library that the device
// has loaded. Streams are CUstream, null for the legacy one of the calling thread's context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace aqua::stand_in {

// What is alive: a device that is gone has left nothing behind.
struct Census {
  std::size_t allocations = 0, reservations = 0, mappings = 0, registrations = 0;
  std::size_t streams = 0, events = 0, contexts = 0;
  std::size_t current_contexts = 0;  // of the calling thread
  bool relaxed = false;              // the calling thread's capture mode
  friend bool operator==(const Census&, const Census&) = default;
};

// How fast the model's GPU is. Plausible for an H100 on PCIe 5, measured on nothing.
struct Rates {
  std::uint64_t call_ns = 1'000;      // of the thread that calls, for every call
  std::uint64_t command_ns = 2'000;   // of a copy engine, before a command moves anything
  std::uint64_t piece_ns = 500;       // of a copy engine, for each further copy of a batch
  std::uint64_t launch_ns = 5'000;    // of the SMs, for a kernel's start and end
  std::uint64_t handover_ns = 3'000;  // from one engine to another in a stream, and by an event
  std::uint64_t link_bytes_per_us = 55'000;       // host memory, each way
  std::uint64_t memory_bytes_per_us = 3'000'000;  // device memory, reads and writes together
};

// How the driver and the GPU differ from the usual.
struct Variant {
  // Work runs in the order of the model's time (engines.hpp), and queries answer by it. Otherwise
  // the order is drawn from all that CUDA allows.
  bool in_time = false;
  Rates rates{};
  std::map<int, int> attributes{};  // CUdevice_attribute -> its value
  std::size_t memory_bytes = std::size_t{64} << 30;
  // Answers only those pointer attributes that cuda.h lists, singly or many at a time.
  bool listed_attributes_only = false;
  // Host memory that is registered has another address on the device.
  bool registered_elsewhere = false;
  // cuMemMap maps more than the memory has.
  bool lax_map = false;
};

// What an engine has done since the program began.
struct EngineUse {
  std::uint64_t busy_ns = 0, commands = 0, bytes = 0;  // over the link, or else of device memory
  std::uint64_t began_ns = 0;                          // its last command
};
struct Usage {
  std::uint64_t now_ns = 0;    // where the threads that call the driver have come to
  std::uint64_t ended_ns = 0;  // the last command that an engine of this GPU has run
  EngineUse from_host, to_host, within, kernels;
  std::size_t blocked = 0;  // calls that waited for room in their stream's queue
};

using Extents = std::vector<std::pair<std::uintptr_t, std::uintptr_t>>;  // begin, end

struct Hooks {
  Census (*census)() = nullptr;
  // The calls of `name` after the next `good` ones fail with `result`, `times` times.
  void (*fail)(const char* name, unsigned good, unsigned times, int result) = nullptr;
  std::size_t (*calls)(const char* name) = nullptr;  // so far
  // From now on. Memory registered before stays where it was.
  void (*behave)(const Variant& variant) = nullptr;
  Usage (*usage)(int device) = nullptr;
  // Whether a kernel could touch all of it, and write there.
  bool (*reachable)(const void* address, std::size_t bytes) = nullptr;
  bool (*writable)(const void* address, std::size_t bytes) = nullptr;
  // The engine's own reservation, of which only the first `mapped` bytes are memory.
  void (*engine_maps)(void* base, std::size_t reserved, std::size_t mapped) = nullptr;

  // An engine captures the stream from now on, or ends the capture; one at a time. False: it has
  // been spoilt.
  bool (*capture)(void* stream, bool capturing) = nullptr;
  // The same for a blocking stream, which puts the legacy stream out of bounds.
  void (*capture_blocking)(bool capturing) = nullptr;

  // Queues `work`, which may touch `touches` and calls no driver, as a kernel would be.
  int (*launch)(void* stream, std::function<void()> work, Extents touches) = nullptr;
  // Where that can be read by now which a kernel queued next will find at `device`: the source of
  // the last queued copy to it, or the place itself.
  const void* (*source_of)(const void* device) = nullptr;
  // Holds a stream until the gate is opened.
  std::uint64_t (*gate)(void* stream) = nullptr;
  void (*open)(std::uint64_t gate) = nullptr;
  // What order the work of unordered streams runs in.
  void (*seed)(unsigned seed) = nullptr;
  std::size_t (*pending)() = nullptr;  // pieces of work not run yet
  // In a forked child, which holds its parent's files of the driver open: runs all that was queued
  // when it was forked, gates or not. That is what a GPU does of a dead process's work until the
  // last of these files is closed. The number of pieces.
  std::size_t (*outlive)() = nullptr;

  // Work that would have faulted, and whatever else no driver forgives, ends the program;
  // or is counted while that is asked for, and of work that ends its context: all calls in that
  // fail from then on, and nothing more runs of what is queued there, until the last holder has
  // released it. Answers how many there were before.
  std::size_t (*tolerate)(bool) = nullptr;
  void (*complain)(const char* what) = nullptr;
};

inline constexpr const char* kHooks = "aqua_stand_in_hooks";
using HooksFunction = const Hooks* (*)();

}  // namespace aqua::stand_in
