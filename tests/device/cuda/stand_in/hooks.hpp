// SPDX-License-Identifier: Apache-2.0
// What tests ask of the stand-in, and make it do. Found by name in the library that the device
// has loaded. Streams are CUstream, null for the legacy one of the calling thread's context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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

using Extents = std::vector<std::pair<std::uintptr_t, std::uintptr_t>>;  // begin, end

struct Hooks {
  Census (*census)() = nullptr;
  // The calls of `name` after the next `good` ones fail with `result`, `times` times.
  void (*fail)(const char* name, unsigned good, unsigned times, int result) = nullptr;
  std::size_t (*calls)(const char* name) = nullptr;  // so far
  // Whether a kernel could touch all of it.
  bool (*reachable)(const void* address, std::size_t bytes) = nullptr;
  // The engine's own reservation, of which only the first `mapped` bytes are memory.
  void (*engine_maps)(void* base, std::size_t reserved, std::size_t mapped) = nullptr;

  // An engine captures the stream from now on, or ends the capture; one at a time. False: it has
  // been spoilt.
  bool (*capture)(void* stream, bool capturing) = nullptr;
  // The same for a blocking stream, which puts the legacy stream out of bounds.
  void (*capture_blocking)(bool capturing) = nullptr;

  // Queues `work`, which may touch `touches` and calls no driver, as a kernel would be.
  int (*launch)(void* stream, std::function<void()> work, Extents touches) = nullptr;
  // The host memory that queued work will copy to `device`; null where none will.
  const void* (*source_of)(const void* device) = nullptr;
  // Holds a stream until the gate is opened.
  std::uint64_t (*gate)(void* stream) = nullptr;
  void (*open)(std::uint64_t gate) = nullptr;
  // What order the work of unordered streams runs in.
  void (*seed)(unsigned seed) = nullptr;
  std::size_t (*pending)() = nullptr;  // pieces of work not run yet

  // Work that would have faulted, and whatever else no driver forgives, ends the program;
  // or is counted while that is asked for. Answers how many there were before.
  std::size_t (*tolerate)(bool) = nullptr;
  void (*complain)(const char* what) = nullptr;
};

inline constexpr const char* kHooks = "aqua_stand_in_hooks";
using HooksFunction = const Hooks* (*)();

}  // namespace aqua::stand_in
