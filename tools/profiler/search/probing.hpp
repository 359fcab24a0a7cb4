// SPDX-License-Identifier: Apache-2.0
// Probing supplies the measurements that a profile is made from. Prober takes them from a live
// engine.
#pragma once

#include "aqua/result.hpp"
#include "tools/profiler/search/record.hpp"

namespace aqua::profiler {

class Probing {
 public:
  Probing() = default;
  Probing(const Probing&) = delete;
  Probing& operator=(const Probing&) = delete;
  virtual ~Probing() = default;

  // Each blocks for as long as it takes. cancelled when it was stopped; unavailable,
  // deadline_exceeded or data_loss when the engine died, hangs, or fails, with what it said;
  // resource_exhausted when this machine, not the engine, is at a limit; invalid_argument when the
  // load would be too large for it.
  //
  // Plays a load of this rate; with `whole` to its end even when it is clear that the SLA is met.
  [[nodiscard]] virtual Result<Probe> probe(double rate, std::uint64_t seed, bool whole) = 0;
  [[nodiscard]] virtual Result<Burst> burst(double rate, double factor, std::uint64_t seed) = 0;
  // Asks for `size` items at a time, again and again.
  [[nodiscard]] virtual Result<Batch> batch(std::size_t size) = 0;
};

}  // namespace aqua::profiler
