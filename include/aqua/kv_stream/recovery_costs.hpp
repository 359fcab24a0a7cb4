// SPDX-License-Identifier: Apache-2.0
// RecoveryCosts is what plan_recovery() (aqua/kv_stream/recovery.hpp) reckons with, as it was
// measured here: how fast replicas are copied, and how long a known token takes to be computed.
//
// Each of the two is a quotient of sums: all bytes over all seconds, and all seconds over all
// tokens. So a small copy, which lasts about as long as a call does, weighs little beside a large
// one. A measurement counts half as much once seven more have come. Before anything was measured,
// Start says what is taken. Header only.
//
// Threads: one at a time. Pure. Units: bytes, seconds, tokens.
#pragma once

#include <cmath>
#include <cstdint>

namespace aqua::kv_stream {

class RecoveryCosts {
 public:
  // What is taken as long as nothing was measured. Both are finite and above zero.
  struct Start {
    double link_bytes_per_second = 1e9;
    double prefill_seconds_per_token = 1e-4;
  };
  RecoveryCosts() = default;
  explicit RecoveryCosts(const Start& start) : start_(start) {}

  // Replicas of so many bytes were copied, to a keeper or from it, and it took so long. Nothing, or
  // no time at all, tells nothing.
  void copied(std::uint64_t bytes, double seconds) {
    copies_.add(static_cast<double>(bytes), seconds);
  }
  // So many tokens were computed through the whole pipeline.
  void computed(std::uint64_t tokens, double seconds) {
    computing_.add(static_cast<double>(tokens), seconds);
  }

  [[nodiscard]] double link_bytes_per_second() const {
    return copies_.any() ? copies_.amount / copies_.seconds : start_.link_bytes_per_second;
  }
  [[nodiscard]] double prefill_seconds_per_token() const {
    return computing_.any() ? computing_.seconds / computing_.amount
                            : start_.prefill_seconds_per_token;
  }
  [[nodiscard]] bool copies_measured() const { return copies_.any(); }
  [[nodiscard]] bool computing_measured() const { return computing_.any(); }

 private:
  struct Sums {
    [[nodiscard]] bool any() const { return amount > 0; }
    void add(double more, double took) {
      if (!(more > 0 && took > 0 && std::isfinite(took))) return;
      constexpr double kKept = 0.9057236642639067;  // a half, after seven
      amount = amount * kKept + more;
      seconds = seconds * kKept + took;
    }
    double amount = 0, seconds = 0;
  };

  Start start_{};
  Sums copies_{}, computing_{};
};

}  // namespace aqua::kv_stream
