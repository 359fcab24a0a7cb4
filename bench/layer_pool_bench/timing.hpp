// SPDX-License-Identifier: Apache-2.0
// How layer_pool_bench times steps: by the host, over batches of them, engines in turn.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "layer_pool_bench/effort.hpp"
#include "layer_pool_bench/engine.hpp"

namespace aqua::bench {

// Mean seconds of a step over a batch. `post` posts one step of the engine; the host is one step
// ahead, so that streams are never without work. Some steps before the batch, and one behind it, do
// not count.
[[nodiscard]] double seconds_per_step(Engine& engine, unsigned steps,
                                      const std::function<void()>& post);
inline constexpr unsigned kLeadIn = 2;  // steps before the batch
// Whether the n-th step that is posted so, from 1 on, is of the batch.
[[nodiscard]] constexpr bool counts(std::uint64_t n, unsigned steps) {
  return n > kLeadIn && n <= kLeadIn + steps;
}

// Seconds a step of each engine, batches in turn. Each step reads every block and writes the last
// one of two sequences.
[[nodiscard]] std::vector<std::vector<double>> in_turn(const std::vector<Engine*>& engines,
                                                       unsigned rounds, unsigned steps);
// What such a step writes, and reads. fill() writes all blocks, so that they can be read.
[[nodiscard]] Blocks last_blocks(const Shape& shape);
[[nodiscard]] Blocks first_blocks(std::uint32_t count);
void fill(Engine& engine);

// The fewest frames from which on no step is longer than with all layers resident; as many as
// layers at most.
class StallFree {
 public:
  static constexpr double kUpTo = 1.03;  // of the resident step

  explicit StallFree(std::uint32_t layers) : frames_(layers) {}
  // Told of fewer and fewer, each with its step over the resident one. Whether it bears none.
  bool see(std::uint32_t frames, double ratio) {
    const bool free = ratio <= kUpTo;
    stalled_ = stalled_ || !free;
    if (!stalled_) frames_ = frames;
    return free;
  }
  [[nodiscard]] std::uint32_t frames() const { return frames_; }

 private:
  std::uint32_t frames_;
  bool stalled_ = false;
};

// Seconds that so many blocks of one layer take to come in from where layers are away, and to go
// there: the median of some copies, each between two marks of its stream.
struct CopySeconds {
  double in = 0;
  double out = 0;
};
[[nodiscard]] CopySeconds measure_copies(Runtime& runtime, const Shape& shape,
                                         const Blocks& fetched, const Blocks& written);

// An emulated device without neighbours, whose link to host memory has this rate.
[[nodiscard]] Runtime open_device(double link_bytes_per_second, std::size_t device_mib,
                                  std::size_t host_mib);

// Null of none; else {"median": …, "p25": …, "p75": …, "min": …, "max": …, "samples": N}
[[nodiscard]] nlohmann::json summary(const std::vector<double>& samples);

}  // namespace aqua::bench
