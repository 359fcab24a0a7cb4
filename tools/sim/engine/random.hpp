// SPDX-License-Identifier: Apache-2.0
// Random numbers that are the same on every machine and standard library: the engine is
// specified, the standard's distributions are not.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>

namespace aqua::sim {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  // In [0, 1), 53 bits.
  [[nodiscard]] double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  // Exponential with this mean: the time to the next arrival of a Poisson process.
  [[nodiscard]] double exponential(double mean) { return -mean * std::log1p(-uniform()); }
  // In [0, n), n > 0.
  [[nodiscard]] std::uint64_t below(std::uint64_t n) {
    return static_cast<std::uint64_t>(uniform() * static_cast<double>(n));
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace aqua::sim
