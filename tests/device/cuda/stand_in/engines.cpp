// SPDX-License-Identifier: Apache-2.0
#include "tests/device/cuda/stand_in/engines.hpp"

#include <algorithm>

#include "tests/device/cuda/stand_in/world.hpp"

namespace aqua::stand_in {
namespace {

constexpr std::uint64_t kNsOfUs = 1'000;
constexpr std::uint64_t kSliceNs = 2'000'000;  // a GPU's usual one

std::uint64_t time_of(const Load& load) {
  const Rates& rates = world().variant.rates;
  const std::uint64_t start = load.engine == Engine::kernels
                                  ? rates.launch_ns
                                  : rates.command_ns + (load.pieces - 1) * rates.piece_ns;
  return start + std::max(load.link_bytes * kNsOfUs / rates.link_bytes_per_us,
                          load.memory_bytes * kNsOfUs / rates.memory_bytes_per_us);
}

EngineState& engine_of(const Queue& queue, const Load& load) {
  return world().gpus[queue.context][static_cast<std::size_t>(load.engine)];
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

Turn turn_of(const Queue& queue, const Task& task) {
  Turn turn{.ready_ns = ready_ns(queue, task), .number = task.number};
  turn.start_ns = turn.ready_ns;
  if (task.load.engine == Engine::none) return turn;
  const EngineState& engine = engine_of(queue, task.load);
  turn.start_ns = std::max(turn.ready_ns, engine.free_ns);
  const bool had = queue.time.engine == task.load.engine &&
                   queue.time.command == static_cast<std::uint32_t>(engine.use.commands);
  turn.takes_over = !had || turn.start_ns - engine.since_ns >= kSliceNs;
  return turn;
}

void account(Queue& queue, const Task& task) {
  StreamTime& time = queue.time;
  const Turn turn = turn_of(queue, task);
  time.began_ns = time.ended_ns = turn.start_ns;
  const Load& load = task.load;
  if (load.engine != Engine::none) {
    EngineState& engine = engine_of(queue, load);
    const std::uint64_t took = time_of(load);
    engine.free_ns = time.ended_ns = time.left_ns = time.began_ns + took;
    time.engine = load.engine;
    if (turn.takes_over) engine.since_ns = time.began_ns;
    engine.use.busy_ns += took;
    engine.use.commands += 1;
    engine.use.began_ns = time.began_ns;
    time.command = static_cast<std::uint32_t>(engine.use.commands);
    engine.use.bytes += load.link_bytes != 0 ? load.link_bytes : load.memory_bytes;
  }
  if (task.record != nullptr) task.record->at_ns = time.ended_ns;
}

}  // namespace aqua::stand_in
