// SPDX-License-Identifier: Apache-2.0
// What a simulated run leaves: one row per request, totals, and memory over time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tools/sim/engine/time.hpp"

namespace aqua::sim {

struct RequestOutcome {
  Picos arrival = 0;
  Picos first_token = kNever;  // kNever: refused
  Picos finish = kNever;
  Picos longest_gap = 0;  // between two of its tokens
  std::uint32_t prompt_tokens = 0;
  std::uint32_t output_tokens = 0;
  std::uint32_t cached_tokens = 0;  // of the prompt, fetched instead of computed
  std::uint32_t preemptions = 0;
  std::uint32_t moves = 0;  // from one engine to another

  [[nodiscard]] bool refused() const noexcept { return finish == kNever; }
  [[nodiscard]] double ttft() const { return seconds(first_token - arrival); }
  [[nodiscard]] double latency() const { return seconds(finish - arrival); }
  // Per token after the first; 0 with a single one.
  [[nodiscard]] double tpot() const {
    return output_tokens < 2 ? 0 : seconds(finish - first_token) / (output_tokens - 1);
  }
};

struct Totals {
  std::uint64_t iterations = 0;
  std::uint64_t decisions = 0;  // times that the policy was asked
  // KV computed by prefill and by decode; again after it was dropped; not at all but fetched.
  // What ended: prefill + decode + cached = sum of prompt + output - 1.
  std::uint64_t prefill_tokens = 0;
  std::uint64_t decode_tokens = 0;
  std::uint64_t recomputed_tokens = 0;
  std::uint64_t cached_tokens = 0;
  std::uint64_t output_tokens = 0;  // given to users
  std::uint64_t swaps_out = 0, swaps_in = 0, recomputes = 0;
  // Over the links, of one GPU's share.
  double bytes_out = 0, bytes_in = 0;
  double bytes_out_peer = 0;
  double bytes_stored = 0;   // of prefixes
  double bytes_fetched = 0;  // of prefixes, in bytes_in
  double bytes_evacuated = 0, bytes_promoted = 0;
  double peak_peer_bytes = 0, peak_host_bytes = 0;
  Picos busy = 0;       // computing
  Picos stretched = 0;  // of it, for the HBM traffic of copies
  friend bool operator==(const Totals&, const Totals&) = default;
};

// The memory of one GPU at one time.
struct MemorySample {
  Picos at = 0;
  double device_bytes = 0;  // KV
  double peer_bytes = 0;
  double host_bytes = 0;
  std::uint32_t waiting = 0;
  std::uint32_t resident = 0;
  std::uint32_t swapped = 0;
};

// Keeps at most some two thousand samples: when there are more, every other one goes and the
// interval doubles.
class MemorySeries {
 public:
  explicit MemorySeries(Picos interval) : interval_(interval) {}
  [[nodiscard]] Picos next() const noexcept { return next_; }
  void add(const MemorySample& sample) {
    samples_.push_back(sample);
    if (samples_.size() > kMost) {
      std::size_t kept = 0;
      for (std::size_t i = 0; i < samples_.size(); i += 2) samples_[kept++] = samples_[i];
      samples_.resize(kept);
      interval_ *= 2;
    }
    next_ = samples_.back().at + interval_;
  }
  [[nodiscard]] const std::vector<MemorySample>& samples() const noexcept { return samples_; }

 private:
  static constexpr std::size_t kMost = 2000;
  Picos interval_;
  Picos next_ = 0;
  std::vector<MemorySample> samples_;
};

// What an engine did whose layers are swapped (tools/sim/layers).
struct LayersOutcome {
  struct Change {
    Picos at = 0;
    std::uint32_t frames = 0;
    std::uint64_t iteration = 0;  // that it was made in, from 0 for the frames at the beginning
    friend bool operator==(const Change&, const Change&) = default;
  };
  std::vector<Change> frames;
  std::uint64_t iterations = 0;
  std::optional<std::uint64_t> full_at{};  // the first iteration that used 95 % of the blocks
  double seconds = 0;                      // of iterations
  double layer_seconds = 0;                // the same, times layers over frames
  double stalled_seconds = 0;              // of them: waited for layers
  double bytes_in = 0, bytes_out = 0;      // over the link
  std::uint64_t blocks_moved = 0;          // on the device, when it shrank

  // Layers over frames, in the mean over time; 1 when nothing was computed.
  [[nodiscard]] double expansion() const { return seconds > 0 ? layer_seconds / seconds : 1; }
};

struct RunOutcome {
  std::vector<RequestOutcome> requests;  // as in the workload
  Totals totals;
  std::vector<MemorySample> memory;
  Picos makespan = 0;  // first arrival to last finish
  std::optional<LayersOutcome> layers{};
};

}  // namespace aqua::sim
