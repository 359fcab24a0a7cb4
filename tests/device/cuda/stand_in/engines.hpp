// SPDX-License-Identifier: Apache-2.0
// The model's time, in nanoseconds: of each GPU's engines, of streams, and of the threads that
// call the driver, which share one clock. No clock of this machine is read.
//
// A GPU has one engine for copies from the host, one for copies to it, one for copies within
// device memory, and its SMs. An engine runs one command at a time, in the order in which the
// commands ran; with Variant::in_time that is the order in which they were ready, whatever their
// streams, as of a GPU's copy engines.
//
// Threads: everything under World::mu.
#pragma once

#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "tests/device/cuda/stand_in/hooks.hpp"

namespace aqua::stand_in {

enum class Engine : std::uint8_t { none, from_host, to_host, within, kernels };

// What a command asks of an engine.
struct Load {
  Engine engine = Engine::none;
  std::uint64_t link_bytes = 0;
  std::uint64_t memory_bytes = 0;  // of device memory, reads and writes
  std::size_t pieces = 1;
};
Load load_of_copy(std::uintptr_t dst, std::uintptr_t src, std::size_t bytes);
Load load_of_kernel(const Extents& touches);
// One command for both.
void add(Load& load, const Load& more);

struct EngineState {
  std::uint64_t free_ns = 0;
  EngineUse use;
};
using Engines = std::array<EngineState, 5>;  // by Engine

// How far a stream has come.
struct StreamTime {
  std::uint64_t began_ns = 0;  // its last command
  std::uint64_t ended_ns = 0;
  std::uint64_t left_ns = 0;  // its last engine, by its last command there
  Engine engine = Engine::none;
};

struct Queue;
struct Task;
// When the queue's next task, whose waits are over, is ready to run.
std::uint64_t ready_ns(const Queue& queue, const Task& task);
// Lets the task take its engine's time.
void account(Queue& queue, const Task& task);

}  // namespace aqua::stand_in
