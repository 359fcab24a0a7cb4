// SPDX-License-Identifier: Apache-2.0
// Prober: probes a live engine (probing.hpp).
#pragma once

#include <stop_token>
#include <string>

#include "tools/profiler/load/load_run.hpp"
#include "tools/profiler/memory/memory_watch.hpp"
#include "tools/profiler/search/probing.hpp"
#include "tools/sim/input/trace.hpp"

namespace aqua::profiler {

struct ProberOptions {
  Sla sla{};
  std::uint64_t requests = 1000;  // of a load
  LengthLimits limits{};
  double burst_seconds = 60;  // of the engine's clock
  MemoryOptions memory{};     // with a source that is not `automatic`
  std::string item_path{};    // image, audio: what is posted where, for one item
  std::string item_body{};
};

class Prober final : public Probing {
 public:
  // Both outlive it; `trace` may be null for batches. The stop token in engine.http stops it.
  Prober(const EngineLink& engine, const sim::Trace* trace, ProberOptions options);

  // Asks for a few tokens, so that a wrong address, an engine that does not stream, or memory
  // figures that cannot be read are found before anything long begins. Fails as probes do.
  [[nodiscard]] Result<void> greet();
  // True when the engine's answers say how many tokens they have.
  [[nodiscard]] bool tells_usage() const noexcept { return usage_; }

  [[nodiscard]] Result<Probe> probe(double rate, std::uint64_t seed, bool whole) override;
  [[nodiscard]] Result<Burst> burst(double rate, double factor, std::uint64_t seed) override;
  [[nodiscard]] Result<Batch> batch(std::size_t size) override;

 private:
  struct Seen {
    LoadResult load{};
    MemoryPeak memory{};
  };
  [[nodiscard]] Result<Seen> play(const sim::Workload& work, LoadOptions options);
  // A request of a few tokens.
  struct ShortRequest {
    double ttft_s = 0;
    std::string refusal{};  // the engine's words with 429 or 503; empty: it answered
  };
  [[nodiscard]] Result<ShortRequest> time_short_request();
  [[nodiscard]] Result<void> recover();
  [[nodiscard]] Result<void> items(std::size_t size, std::size_t rounds);

  const EngineLink& engine_;
  const sim::Trace* trace_;
  const ProberOptions options_;
  const std::stop_token stop_;
  double calm_ttft_s_ = 0;  // of time_short_request(), when nothing else is asked
  bool usage_ = true;
  std::uint64_t next_prompt_;  // no prompt is asked twice
};

}  // namespace aqua::profiler
