// SPDX-License-Identifier: Apache-2.0
// vtc, in words: as fcfs, but next in line is the earliest of the tenant with the least counter,
// as if those let in by this plan had been charged already. A prompt is charged when it is first
// computed, prompt tokens / weight, every generated token 2 / weight. A tenant that begins to wait
// is lifted to the least counter of those who wait, or of the last who did; by a request that moved
// here, further.
#pragma once

#include <tuple>

#include "tests/systems/schedule/naive/scheduler.hpp"

namespace aqua::schedule::test {

class NaiveVtc final : public NaiveScheduler {
 public:
  using NaiveScheduler::NaiveScheduler;

 protected:
  // Who comes with an answer begun has paid for its prompt elsewhere. Its tenant is at least as far
  // ahead of the others here as it was there.
  void arrived(NaiveSequence& s) override {
    s.charged = s.generated > 0;
    if (s.request.lead <= 0) return;
    double least = 0;
    for (const auto& [who, counter] : leavers_) {
      if (who != tenant(s)) least = counter;
    }
    bool any = false;
    for (const auto& [arrival, other] : all_) {
      if (!other.outside() || tenant(other) == tenant(s)) continue;
      least = any ? std::min(least, counters_[tenant(other)]) : counters_[tenant(other)];
      any = true;
    }
    counters_[tenant(s)] = std::max(counters_[tenant(s)], least + s.request.lead);
  }
  void became_outside(NaiveSequence& s) override {
    const std::uint64_t mine = tenant(s);
    double floor = last_left_;
    bool any = false;
    for (const auto& [arrival, other] : all_) {
      if (!other.outside() || other.arrival == s.arrival) continue;
      if (tenant(other) == mine) return;  // it waits already
      floor = any ? std::min(floor, counters_[tenant(other)]) : counters_[tenant(other)];
      any = true;
    }
    counters_[mine] = std::max(counters_[mine], floor);
  }
  void outside_again(NaiveSequence&) override {}  // it never ceased to wait
  void left(NaiveSequence& s) override {
    if (s.outside()) note_leaving(s);
  }
  void served(NaiveSequence& s, std::uint32_t /*tokens*/, std::uint32_t generated) override {
    double& counter = counters_[tenant(s)];
    counter += charge(s) + 2.0 * generated / s.request.weight;
    s.charged = true;
  }
  void entered(NaiveSequence& s) override { note_leaving(s); }
  void begin_admission() override { provisional_ = counters_; }
  void let_in(NaiveSequence& s) override { provisional_[tenant(s)] += charge(s); }
  NaiveSequence* first_in_line(const std::vector<SequenceId>& passed) override {
    NaiveSequence* best = nullptr;
    for (auto& [arrival, s] : all_) {
      if (!s.outside()) continue;
      if (std::find(passed.begin(), passed.end(), s.request.id) != passed.end()) continue;
      const auto key = [&](const NaiveSequence& x) {
        return std::tuple(provisional_[tenant(x)], tenant(x), x.arrival);
      };
      if (best == nullptr || key(s) < key(*best)) best = &s;
    }
    return best;
  }

 private:
  static std::uint64_t tenant(const NaiveSequence& s) {
    return static_cast<std::uint64_t>(s.request.tenant);
  }
  static double charge(const NaiveSequence& s) {
    return s.charged ? 0 : s.request.prompt_tokens / s.request.weight;
  }
  // The last of its tenant to leave the line: its counter is the floor when nobody waits.
  void note_leaving(const NaiveSequence& s) {
    for (const auto& [arrival, other] : all_) {
      if (other.outside() && other.arrival != s.arrival && tenant(other) == tenant(s)) return;
    }
    last_left_ = counters_[tenant(s)];
    leavers_.emplace_back(tenant(s), last_left_);
  }

  std::map<std::uint64_t, double> counters_, provisional_;
  double last_left_ = 0;
  std::vector<std::pair<std::uint64_t, double>> leavers_;  // all, in their order
};

}  // namespace aqua::schedule::test
