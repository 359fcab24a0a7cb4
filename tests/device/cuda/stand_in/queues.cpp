// SPDX-License-Identifier: Apache-2.0
#include "tests/device/cuda/stand_in/queues.hpp"

#include <chrono>

#include "tests/device/cuda/stand_in/world.hpp"

namespace aqua::stand_in {
namespace {

constexpr std::chrono::seconds kPatience{30};

// Of one wait, drawn.
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
  return (front.wait == nullptr || front.wait->reached) && (front.gate == nullptr || *front.gate);
}

void run_front(const std::shared_ptr<Queue>& queue) {
  const std::shared_ptr<Queue> kept = queue;
  const Task task = std::move(kept->tasks.front());
  kept->tasks.pop_front();
  if (task.run) task.run();
  if (task.record != nullptr) {
    task.record->reached = true;
    task.record->at_ns = static_cast<std::uint64_t>(
        std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
  }
  ++kept->ran;
  World& w = world();
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

bool step(const std::shared_ptr<Queue>& queue, Mood mood) {
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
  return CUDA_SUCCESS;
}

std::shared_ptr<Queue>& legacy_queue() {
  World& w = world();
  const auto& contexts = thread().contexts;  // none: a test's own thread, which means the first
  auto& queue = w.legacy[contexts.empty() ? context_of(0) : contexts.back()];
  if (queue == nullptr) w.queues.push_back(queue = std::make_shared<Queue>());
  return queue;
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

void post(Queue& queue, Task task) {
  if (queue.capture != Capture::none) return;
  queue.tasks.push_back(std::move(task));
  ++queue.posted;
  world().changed.notify_all();
}

CUresult reach(Lock& lock, const std::shared_ptr<Point>& point) {
  return run_until(lock, point->queue.lock(), [&] { return point->reached; });
}

CUresult finish(Lock& lock, const std::shared_ptr<Queue>& queue) {
  const std::uint64_t end = queue->posted;
  return run_until(lock, queue, [&] { return queue->ran >= end; });
}

void tick(const Point& point) {
  constexpr std::size_t kSteps[] = {0, 1, 1, 5, 50};
  const auto mood = static_cast<Mood>(draw(3));
  const auto queue = point.queue.lock();
  for (std::size_t n = kSteps[draw(std::size(kSteps))]; n > 0 && !point.reached; --n) {
    if (!step(queue, mood)) return;
  }
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
