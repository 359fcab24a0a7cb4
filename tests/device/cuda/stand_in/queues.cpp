// SPDX-License-Identifier: Apache-2.0
#include "tests/device/cuda/stand_in/queues.hpp"

#include <algorithm>
#include <chrono>

#include "tests/device/cuda/stand_in/world.hpp"

namespace aqua::stand_in {
namespace {

constexpr std::chrono::seconds kPatience{30};

// Which queued work runs while the host waits; drawn anew for each wait.
enum class Mood : std::uint8_t {
  lazy,   // only what the wait needs
  eager,  // all else first
  fair,   // anything
};

std::size_t draw(std::size_t below) {
  return std::uniform_int_distribution<std::size_t>(0, below - 1)(world().random);
}

bool ready(const Queue& queue) {
  if (queue.tasks.empty()) return false;
  const Task& front = queue.tasks.front();
  const bool held = front.gate != nullptr && !front.gate->open;
  return (front.wait == nullptr || front.wait->reached) &&
         (!held || state_of(queue.context) != CUDA_SUCCESS);
}

void run_front(const std::shared_ptr<Queue>& queue) {
  const std::shared_ptr<Queue> kept = queue;
  const Task task = std::move(kept->tasks.front());
  kept->tasks.pop_front();
  World& w = world();
  account(*kept, task);
  if (task.run && state_of(kept->context) == CUDA_SUCCESS) {
    w.running = kept.get();
    task.run();
    w.running = nullptr;
  }
  if (task.record != nullptr) task.record->reached = true;
  ++kept->ran;
  if (kept->destroyed && kept->tasks.empty()) std::erase(w.queues, kept);
  w.changed.notify_all();
}

// The next piece of work without which the queue's end is not reached.
bool step_towards(std::shared_ptr<Queue> queue) {
  while (queue != nullptr && !queue->tasks.empty()) {
    if (ready(*queue)) {
      run_front(queue);
      return true;
    }
    const Task& front = queue->tasks.front();
    if (front.wait == nullptr || front.wait->reached) return false;  // a closed gate
    queue = front.wait->queue.lock();
  }
  return false;
}

// Any work that can run, of queues other than `but`.
bool step_any(const Queue* but) {
  std::vector<std::shared_ptr<Queue>> able;
  for (const auto& queue : world().queues) {
    if (queue.get() != but && ready(*queue)) able.push_back(queue);
  }
  if (able.empty()) return false;
  run_front(std::shared_ptr<Queue>(able[draw(able.size())]));
  return true;
}

// The work whose turn it is, if that has come by `until`.
bool step_in_time(std::uint64_t until) {
  std::shared_ptr<Queue> first;
  Turn least{until, true, UINT64_MAX, UINT64_MAX};
  for (const auto& queue : world().queues) {
    if (!ready(*queue)) continue;
    const Turn turn = turn_of(*queue, queue->tasks.front());
    if (turn > least) continue;
    least = turn;
    first = queue;
  }
  if (first == nullptr) return false;
  run_front(first);
  return true;
}

bool step(const std::shared_ptr<Queue>& queue, Mood mood) {
  if (world().variant.in_time) return step_in_time(UINT64_MAX);
  switch (mood) {
    case Mood::lazy:
      return step_towards(queue);
    case Mood::eager:
      return step_any(queue.get()) || step_towards(queue);
    case Mood::fair:
      break;
  }
  return step_any(nullptr);
}

template <typename Done>
CUresult run_until(Lock& lock, const std::shared_ptr<Queue>& queue, Done done) {
  const auto mood = static_cast<Mood>(draw(3));
  while (!done()) {
    if (step(queue, mood)) continue;
    if (world().changed.wait_for(lock, kPatience) == std::cv_status::timeout) {
      complain("a wait that never ends");
      return CUDA_ERROR_TIMEOUT;
    }
  }
  return state_of(current_context());
}

std::shared_ptr<Queue>& legacy_queue() {
  World& w = world();
  auto& queue = w.legacy[current_context()];
  if (queue == nullptr) w.queues.push_back(queue = std::make_shared<Queue>(current_context()));
  return queue;
}

// The thread that calls goes on no earlier than `at_ns`.
void go_on(std::uint64_t at_ns) {
  world().now_ns = std::max(world().now_ns, at_ns);
}

CUresult await_room(Lock& lock, const std::shared_ptr<Queue>& queue) {
  World& w = world();
  const auto full = [&] { return queue->tasks.size() >= kQueueDepth; };
  while (w.variant.in_time && step_in_time(w.now_ns)) {
  }
  if (!full()) return CUDA_SUCCESS;
  ++w.blocked;
  const CUresult waited = run_until(lock, queue, [&] { return !full(); });
  go_on(queue->time.began_ns);
  return waited;
}

}  // namespace

CUresult find_queue(CUstream stream, std::shared_ptr<Queue>* queue) {
  World& w = world();
  if (stream == nullptr || stream == CU_STREAM_LEGACY) {
    *queue = legacy_queue();
    return w.blocking_capture ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_SUCCESS;
  }
  const auto found = w.streams.find(stream);  // CU_STREAM_PER_THREAD is none: nobody here has one
  if (found == w.streams.end()) return CUDA_ERROR_INVALID_HANDLE;
  *queue = found->second;
  return (*queue)->capture == Capture::invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                                               : CUDA_SUCCESS;
}

CUresult post(Lock& lock, const std::shared_ptr<Queue>& queue, Task task) {
  if (queue->capture != Capture::none) return CUDA_SUCCESS;
  if (queue->tasks.size() >= kQueueDepth) {
    if (const CUresult failed = await_room(lock, queue)) return failed;
  }
  World& w = world();
  task.number = ++w.last_task;
  task.posted_ns = w.now_ns;
  queue->tasks.push_back(std::move(task));
  ++queue->posted;
  w.changed.notify_all();
  return CUDA_SUCCESS;
}

CUresult reach(Lock& lock, const std::shared_ptr<Point>& point) {
  const CUresult waited = run_until(lock, point->queue.lock(), [&] { return point->reached; });
  go_on(point->at_ns);
  return waited;
}

CUresult finish(Lock& lock, const std::shared_ptr<Queue>& queue) {
  const std::uint64_t end = queue->posted;
  const CUresult waited = run_until(lock, queue, [&] { return queue->ran >= end; });
  go_on(queue->time.ended_ns);
  return waited;
}

bool query(const Point& point) {
  if (world().variant.in_time) {
    while (step_in_time(world().now_ns)) {
    }
    return point.reached && point.at_ns <= world().now_ns;
  }
  constexpr std::size_t kSteps[] = {0, 1, 1, 5, 50};
  const auto mood = static_cast<Mood>(draw(3));
  const auto queue = point.queue.lock();
  for (std::size_t n = kSteps[draw(std::size(kSteps))]; n > 0 && !point.reached; --n) {
    if (!step(queue, mood)) break;
  }
  return point.reached;
}

std::size_t run_out() {
  for (const auto& [id, gate] : world().gates) gate->open = true;
  std::size_t pieces = 0;
  while (step_any(nullptr)) ++pieces;
  return pieces;
}

bool in_use(const char* call, std::uintptr_t base, std::size_t bytes) {
  for (const auto& queue : world().queues) {
    for (const Task& task : queue->tasks) {
      for (const auto& [begin, end] : task.touches) {
        if (begin < base + bytes && base < end) {
          complain(std::string(call) + " of memory that queued work will touch");
          return true;
        }
      }
    }
  }
  return false;
}

}  // namespace aqua::stand_in
