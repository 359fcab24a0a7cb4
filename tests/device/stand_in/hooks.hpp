// What tests ask of the stand-in, and make it do. Found by name in the library that the device
// has loaded.
#pragma once

#include <cstddef>
#include <cstdint>

namespace aqua::stand_in {

// What is alive: a device that is gone has left nothing behind.
struct Census {
  std::size_t allocations = 0, reservations = 0, mappings = 0, registrations = 0;
  std::size_t streams = 0, events = 0, contexts = 0;
  std::size_t current_contexts = 0;  // of the calling thread
  bool relaxed = false;              // the calling thread's capture mode
  friend bool operator==(const Census&, const Census&) = default;
};

struct Hooks {
  Census (*census)() = nullptr;
  // The calls of `name` after the next `good` ones fail with `result`, `times` times.
  void (*fail)(const char* name, unsigned good, unsigned times, int result) = nullptr;
  void (*capture)(void* stream, bool capturing) = nullptr;  // from now on, or no longer
  std::size_t (*calls)(const char* name) = nullptr;         // so far
  // Whether a kernel could touch all of it.
  bool (*reachable)(const void* address, std::size_t bytes) = nullptr;
  // Events recorded from now on are not reached, or are again, with all those before.
  void (*stall)(bool stalled) = nullptr;
  // The engine's own reservation, of which only the first `mapped` bytes are memory.
  void (*engine_maps)(void* base, std::size_t reserved, std::size_t mapped) = nullptr;
};

inline constexpr const char* kHooks = "aqua_stand_in_hooks";
using HooksFunction = const Hooks* (*)();

}  // namespace aqua::stand_in
