// SPDX-License-Identifier: Apache-2.0
#include "tests/device/cuda/stand_in/engines.hpp"

#include <algorithm>

#include "tests/device/cuda/stand_in/world.hpp"

namespace aqua::stand_in {
namespace {

constexpr std::uint64_t kNsOfUs = 1'000;

std::uint64_t time_of(const Load& load) {
  const Rates& rates = world().variant.rates;
  const std::uint64_t start = load.engine == Engine::kernels
                                  ? rates.launch_ns
                                  : rates.command_ns + (load.pieces - 1) * rates.piece_ns;
  return start + std::max(load.link_bytes * kNsOfUs / rates.link_bytes_per_us,
                          load.memory_bytes * kNsOfUs / rates.memory_bytes_per_us);
}

}  // namespace

Load load_of_copy(Address dst, Address src, std::size_t bytes) {
  const bool to = on_device(dst);
  const bool from = on_device(src);
  if (to && from) return {Engine::within, 0, 2 * bytes};
  if (!to && !from) return {};  // the host's own
  return {to ? Engine::from_host : Engine::to_host, bytes, bytes};
}

Load load_of_kernel(const Extents& touches) {
  Load load{.engine = Engine::kernels};
  for (const auto& [begin, end] : touches) {
    (on_device(begin) ? load.memory_bytes : load.link_bytes) += end - begin;
  }
  return load;
}

void add(Load& load, const Load& more) {
  const std::size_t pieces = load.engine == Engine::none ? 1 : load.pieces + 1;
  if (load.engine == Engine::none) load.engine = more.engine;
  load.link_bytes += more.link_bytes;
  load.memory_bytes += more.memory_bytes;
  load.pieces = pieces;
}

std::uint64_t ready_ns(const Queue& queue, const Task& task) {
  const std::uint64_t handover = world().variant.rates.handover_ns;
  std::uint64_t at = std::max(queue.time.ended_ns, task.posted_ns);
  if (task.wait != nullptr) {
    const bool other = task.wait->queue.lock().get() != &queue;
    at = std::max(at, task.wait->at_ns + (other ? handover : 0));
  }
  if (task.gate != nullptr) at = std::max(at, task.gate->at_ns);
  if (task.load.engine != Engine::none && queue.time.engine != Engine::none &&
      task.load.engine != queue.time.engine) {
    at = std::max(at, queue.time.left_ns + handover);
  }
  return at;
}

void account(Queue& queue, const Task& task) {
  StreamTime& time = queue.time;
  time.began_ns = time.ended_ns = ready_ns(queue, task);
  const Load& load = task.load;
  if (load.engine != Engine::none) {
    EngineState& engine = world().gpus[queue.context][static_cast<std::size_t>(load.engine)];
    const std::uint64_t took = time_of(load);
    time.began_ns = std::max(time.began_ns, engine.free_ns);
    engine.free_ns = time.ended_ns = time.left_ns = time.began_ns + took;
    time.engine = load.engine;
    engine.use.busy_ns += took;
    engine.use.commands += 1;
    engine.use.bytes += load.link_bytes != 0 ? load.link_bytes : load.memory_bytes;
  }
  if (task.record != nullptr) task.record->at_ns = time.ended_ns;
}

}  // namespace aqua::stand_in
