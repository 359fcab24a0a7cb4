// SPDX-License-Identifier: Apache-2.0
// Streams as queues of at most kQueueDepth commands. Work runs only while somebody queries or
// waits, on that thread, and as badly as CUDA allows: only the order of each stream and the events
// waited for are kept. Of all that may run next it is drawn what does; see Mood. In a Variant that
// keeps time it is what is ready first.
//
// Threads: everything under World::mu.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "tests/device/cuda/stand_in/engines.hpp"
#include "tests/device/cuda/stand_in/hooks.hpp"

namespace aqua::stand_in {

struct Queue;

// The tail of a stream when an event was recorded there.
struct Point {
  std::weak_ptr<Queue> queue{};
  bool reached = false;
  std::uint64_t at_ns = 0;  // then
};
// What an event stands for: its last record. Without a point it was never recorded.
struct EventState {
  std::shared_ptr<Point> point{};
  bool captured = false;  // recorded into a graph
  bool timed = false;
  CUcontext context = nullptr;
};
// Holds a stream until it is opened.
struct Gate {
  bool open = false;
  std::uint64_t at_ns = 0;  // then
};

struct Task {
  std::function<void()> run{};
  Extents touches{};
  Load load{};
  std::shared_ptr<Point> wait{};    // not before it is reached
  std::shared_ptr<Point> record{};  // is reached then
  std::shared_ptr<Gate> gate{};     // not before it is open
  std::uint64_t number = 0, posted_ns = 0;
};

enum class Capture : std::uint8_t { none, active, invalid };

// As a GPU's channels have: a call that finds so many commands in its stream's queue blocks.
constexpr std::size_t kQueueDepth = 1'024;

struct Queue {
  explicit Queue(CUcontext of) : context(of) {}
  const CUcontext context;
  std::deque<Task> tasks;
  std::uint64_t posted = 0, ran = 0;
  Capture capture = Capture::none;
  bool destroyed = false;  // goes when all has run
  StreamTime time;
};

// The queue behind a handle. IMPLICIT for the legacy stream while a blocking one is captured,
// INVALIDATED where a capture has been spoilt.
CUresult find_queue(CUstream stream, std::shared_ptr<Queue>* queue);
// Queues, or makes a node of a graph that nobody launches. Blocks while the queue is full.
CUresult post(std::unique_lock<std::recursive_mutex>& lock, const std::shared_ptr<Queue>& queue,
              Task task);

// Runs work until the point is reached, or all that the queue holds now has run. Fails after
// half a minute in which nothing could run: it would never end. Fails when the calling thread's
// context has ended.
CUresult reach(std::unique_lock<std::recursive_mutex>& lock, const std::shared_ptr<Point>& point);
CUresult finish(std::unique_lock<std::recursive_mutex>& lock, const std::shared_ptr<Queue>& queue);
// Whether the point is reached, after a little time in which some work may run.
bool query(const Point& point);
// Runs all that is left, also behind closed gates. The number of pieces.
std::size_t run_out();

// Complains where queued work may still touch the memory that `call` is about to take away.
bool in_use(const char* call, std::uintptr_t base, std::size_t bytes);

}  // namespace aqua::stand_in
