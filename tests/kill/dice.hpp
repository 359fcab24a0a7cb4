// SPDX-License-Identifier: Apache-2.0
// Chance that can be repeated, for the tests that kill at random moments.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <thread>

namespace aqua::kill_test {

// What an environment variable says, such as a seed or a number of rounds.
inline std::uint64_t number_from(const char* variable, std::uint64_t fallback) {
  const char* text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): one thread
  return text != nullptr && *text != '\0' ? std::strtoull(text, nullptr, 10) : fallback;
}

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  [[nodiscard]] std::size_t below(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_);
  }
  [[nodiscard]] bool one_in(std::size_t n) { return below(n) == 0; }
  // The moment is the point of these tests: it is drawn, not waited for.
  void wait(std::chrono::microseconds longest = std::chrono::milliseconds(60)) {
    std::this_thread::sleep_for(
        std::chrono::microseconds(below(static_cast<std::size_t>(longest.count()))));
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace aqua::kill_test
