// SPDX-License-Identifier: Apache-2.0
// A load in virtual time, token by token, and what the verdict says of it on the way.
#pragma once

#include <vector>

#include "tools/profiler/load/load.hpp"
#include "tools/sim/report/scenario.hpp"

namespace aqua::profiler::test {

// A load played through the simulator: every token that a client sees, in time order.
struct Played {
  sim::Workload work;
  struct Token {
    std::uint32_t request = 0;
    double at_s = 0;
  };
  std::vector<Token> tokens{};

  [[nodiscard]] double arrival_s(std::size_t request) const {
    return sim::seconds(work.requests[request].arrival);
  }
};

inline Played play(const sim::Ground& ground, const sim::Trace& trace, double rate,
                   std::uint64_t requests, std::uint64_t seed) {
  Played played{sim::poisson(trace, {.requests = requests, .per_second = rate}, seed).value()};
  (void)sim::simulate(ground, sim::parse_policy("fcfs").value(), played.work, {},
                      [&](std::uint32_t request, sim::Picos at) {
                        played.tokens.push_back({request, sim::seconds(at)});
                      })
      .value();
  return played;
}

// What Verdict says when it is told of each token as it comes, as LoadRun tells it, until the
// outcome is clear.
class Replay {
 public:
  Replay(const Played& played, bool whole)
      : played_(played),
        whole_(whole),
        last_s_(played.work.requests.size(), -1),
        verdict_(sla_, played.work.requests.size(), gaps_of(asks_of(played.work, {})), whole) {}

  [[nodiscard]] bool met() {
    for (const Played::Token& token : played_.tokens) {
      take(token);
      const Standing standing = verdict_.standing(waiting(token.at_s));
      if (standing == Standing::missed || (standing == Standing::met && !whole_))
        return standing == Standing::met;
    }
    return verdict_.final() == Standing::met;
  }
  [[nodiscard]] Quantiles quantiles() { return verdict_.quantiles(); }
  [[nodiscard]] std::size_t answered() const { return verdict_.answered(); }

 private:
  void take(const Played::Token& token) {
    double& last = last_s_[token.request];
    if (last < 0) {
      verdict_.first_token(token.at_s - played_.arrival_s(token.request));
    } else {
      verdict_.gap(token.at_s - last);
    }
    last = token.at_s;
  }
  // First come, first served: who came before one that has its token has its own, but for a few.
  [[nodiscard]] Waiting waiting(double now) {
    while (oldest_ < last_s_.size() && last_s_[oldest_] >= 0) ++oldest_;
    Waiting found;
    for (std::size_t i = oldest_; i < last_s_.size(); ++i) {
      const double waited = now - played_.arrival_s(i);
      if (waited < sla_.ttft_s / 2) break;
      if (last_s_[i] >= 0) continue;
      ++found.half;
      found.overdue += waited < sla_.ttft_s ? 0U : 1U;
    }
    return found;
  }

  const Played& played_;
  const bool whole_;
  const Sla sla_{};
  std::vector<double> last_s_;  // its latest token; negative: none yet
  std::size_t oldest_ = 0;      // all before it have a token
  Verdict verdict_;
};

}  // namespace aqua::profiler::test
