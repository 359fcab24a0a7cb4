// SPDX-License-Identifier: Apache-2.0
// What the stand-in lets tests see and do.
#include "tests/device/cuda/stand_in/hooks.hpp"

#include <algorithm>

#include "tests/device/cuda/stand_in/world.hpp"

namespace aqua::stand_in {
namespace {

Census census() {
  const World& w = world();
  const Lock lock(world().mu);
  std::size_t contexts = 0;
  for (const auto& [context, holders] : w.contexts) contexts += holders;
  return {.allocations = w.allocations.size() + w.linear.size() + w.locked.size(),
          .reservations = w.reservations.size(),
          .mappings = w.mappings.size(),
          .registrations = w.registrations.size(),
          .streams = w.streams.size(),
          .events = w.events.size(),
          .contexts = contexts,
          .current_contexts = thread().contexts.size(),
          .relaxed = thread().mode == CU_STREAM_CAPTURE_MODE_RELAXED};
}
void fail(const char* name, unsigned good, unsigned times, int result) {
  const Lock lock(world().mu);
  world().faults[name] = {good, times, static_cast<CUresult>(result)};
}
std::size_t calls(const char* name) {
  const Lock lock(world().mu);
  return world().calls[name];
}
void behave(const Variant& variant) {
  const Lock lock(world().mu);
  world().variant = variant;
}
Usage usage(int device) {
  World& w = world();
  const Lock lock(w.mu);
  Engines& gpu = w.gpus[context_of(device)];
  const auto of = [&](Engine engine) { return gpu[static_cast<std::size_t>(engine)].use; };
  std::uint64_t ended_ns = 0;
  for (const EngineState& engine : gpu) ended_ns = std::max(ended_ns, engine.free_ns);
  return {.now_ns = w.now_ns,
          .ended_ns = ended_ns,
          .from_host = of(Engine::from_host),
          .to_host = of(Engine::to_host),
          .within = of(Engine::within),
          .kernels = of(Engine::kernels),
          .blocked = w.blocked};
}
bool ask_writable(const void* address, std::size_t bytes) {
  const Lock lock(world().mu);
  return writable(reinterpret_cast<Address>(address), bytes);
}
bool ask_reachable(const void* address, std::size_t bytes) {
  const Lock lock(world().mu);
  return reachable(reinterpret_cast<Address>(address), bytes);
}
void engine_maps(void* base, std::size_t reserved, std::size_t mapped) {
  const Lock lock(world().mu);
  const auto begin = reinterpret_cast<Address>(base);
  world().engines[begin] = begin + reserved;
  world().accessible[begin] = begin + mapped;
}

bool capture(void* stream, bool capturing) {
  const Lock lock(world().mu);
  world().capturing = capturing;
  Queue& captured = *world().streams.at(static_cast<CUstream>(stream));
  if (capturing) captured.capture = Capture::active;
  const bool good = captured.capture == Capture::active;
  if (!capturing) {  // with all that joined
    for (const auto& queue : world().queues) queue->capture = Capture::none;
  }
  return good;
}
void capture_blocking(bool capturing) {
  const Lock lock(world().mu);
  world().blocking_capture = capturing;
}

int launch(void* stream, std::function<void()> work, Extents touches) {
  Lock lock(world().mu);
  world().now_ns += world().variant.rates.call_ns;
  if (const CUresult refused = enter("cuLaunchKernel", false); refused != CUDA_SUCCESS)
    return refused;
  std::shared_ptr<Queue> queue;
  if (const CUresult refused = find_queue(static_cast<CUstream>(stream), &queue)) return refused;
  if (!thread().contexts.empty() && thread().contexts.back() != queue->context)
    return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult ended = state_of(queue->context)) return ended;
  const Load load = load_of_kernel(touches);
  return post(lock, queue, {.run = std::move(work), .touches = std::move(touches), .load = load});
}
// MemcpyAsync notes the destination first.
const void* source_of(const void* device) {
  const Lock lock(world().mu);
  const void* source = device;
  for (const auto& queue : world().queues) {
    for (const Task& task : queue->tasks) {
      if (task.touches.size() == 2 && task.touches[0].first == reinterpret_cast<Address>(device)) {
        source = reinterpret_cast<const void*>(task.touches[1].first);
      }
    }
  }
  return source;
}
std::uint64_t gate(void* stream) {
  Lock lock(world().mu);
  std::shared_ptr<Queue> queue;
  if (find_queue(static_cast<CUstream>(stream), &queue) != CUDA_SUCCESS) complain("gate");
  auto gate = std::make_shared<Gate>();
  if (post(lock, queue, {.gate = gate}) != CUDA_SUCCESS) complain("gate");
  const std::uint64_t id = world().last_object += 16;
  world().gates[id] = std::move(gate);
  return id;
}
void open(std::uint64_t gate) {
  const Lock lock(world().mu);
  *world().gates.at(gate) = {.open = true, .at_ns = world().now_ns};
  world().gates.erase(gate);
  world().changed.notify_all();
}
void seed(unsigned seed) {
  const Lock lock(world().mu);
  world().random.seed(seed);
}
std::size_t pending() {
  const Lock lock(world().mu);
  std::size_t tasks = 0;
  for (const auto& queue : world().queues) tasks += queue->tasks.size();
  return tasks;
}

std::size_t outlive() {
  const Lock lock(world().mu);
  return run_out();
}

std::size_t tolerate(bool tolerant) {
  const Lock lock(world().mu);
  world().tolerant = tolerant;
  return std::exchange(world().complaints, 0);
}
void complain_of(const char* what) {
  const Lock lock(world().mu);
  complain(what);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const Hooks* aqua_stand_in_hooks() {
  static const Hooks hooks{.census = census,
                           .fail = fail,
                           .calls = calls,
                           .behave = behave,
                           .usage = usage,
                           .reachable = ask_reachable,
                           .writable = ask_writable,
                           .engine_maps = engine_maps,
                           .capture = capture,
                           .capture_blocking = capture_blocking,
                           .launch = launch,
                           .source_of = source_of,
                           .gate = gate,
                           .open = open,
                           .seed = seed,
                           .pending = pending,
                           .outlive = outlive,
                           .tolerate = tolerate,
                           .complain = complain_of};
  return &hooks;
}

}  // namespace aqua::stand_in
