// SPDX-License-Identifier: Apache-2.0
// auto, in words (docs/engine/scheduling.md, "Policies"): prompts first, answers at their pace, the
// overdue before everybody. Who is outside, how many are paced and who goes first is worked out
// from the sequences whenever it is asked for.
#pragma once

#include <array>
#include <optional>
#include <tuple>
#include <utility>

#include "tests/systems/schedule/naive/scheduler.hpp"

namespace aqua::schedule::test {

class NaiveAuto final : public NaiveScheduler {
 public:
  using NaiveScheduler::NaiveScheduler;
  Result<void> set_time(double seconds) override;
  Result<void> set_seconds_per_block(Tier tier, double seconds) override;
  SchedulerStatus status() const noexcept override;

 protected:
  void plan() override;
  void arrived(NaiveSequence& s) override;
  void answered(NaiveSequence& s) override { ended_.push_back(s.generated); }
  void finished(NaiveSequence&) override { idled_ |= all_.size() == 1; }
  void became_outside(NaiveSequence& s) override;
  void became_resident(NaiveSequence& s) override;
  void entered(NaiveSequence& s) override;
  void served(NaiveSequence& s, std::uint32_t tokens, std::uint32_t generated) override;
  void committed() override;
  Tier tier_out() override;

 private:
  using Line = std::vector<NaiveSequence*>;
  enum class Keeps : std::uint8_t { held, prompt, paced, backlog };  // its place, the first longest

  // Equal ones by arrival.
  template <typename Key>
  static void sort_by(Line& line, Key key) {
    std::sort(line.begin(), line.end(), [&](const NaiveSequence* a, const NaiveSequence* b) {
      return std::tuple(key(*a), a->arrival) < std::tuple(key(*b), b->arrival);
    });
  }

  // --- what was seen ---
  void learn();
  void learn_costs();
  void demote();
  void promote();
  void date(NaiveSequence& s);
  static void pace(NaiveSequence& s, bool paced);
  std::size_t count(const Select& wanted) const;
  std::size_t paced() const;
  // What those at their pace ask for, and `other` beside them.
  double load(const NaiveSequence* other = nullptr) const;
  bool sustains(double load, double part) const;
  void begin_pace(NaiveSequence& s, double from);
  void begin_answer(NaiveSequence& s, double from);
  double quickest(const NaiveSequence& s) const;
  bool hopeless(const NaiveSequence& s) const;
  bool gives_up(NaiveSequence& s);
  double now() const;
  bool calm() const { return !contended_ && calm_for_ >= options_.slice_iterations; }
  struct Mean {
    double value = 0;
    std::uint64_t of = 0;
  };
  // The nth of its kind is one part of so many in a mean.
  double weighs(std::uint64_t n, std::uint64_t slices = 1) const {
    const std::uint64_t over = slices * std::max(16U, options_.slice_iterations);
    return static_cast<double>(std::min(n, over));
  }
  void average(Mean& mean, double value, std::uint64_t slices = 1) const {
    mean.value += (value - mean.value) / weighs(++mean.of, slices);
  }
  // What one takes: a mean over a mean. What takes more than eight times as much counts for that,
  // and if the first ones took more than eight times what follows, it begins anew.
  struct Cost {
    Mean took, many;
    double each() const { return many.value > 0 ? took.value / many.value : 0; }
  };
  void add_to(Cost& cost, double took, double many) const {
    const double each = cost.each();
    if (took > 0 && 8 * took < each * many && cost.many.of < 16) cost.took.of = cost.many.of = 0;
    average(cost.took, each > 0 ? std::min(took, 8 * each * many) : took);
    average(cost.many, many);
  }
  std::uint64_t prompt_tokens_beside(std::size_t decodes) const;
  double token_due(const NaiveSequence& s) const;
  bool overdue(const NaiveSequence& s) const { return s.due <= iterations_; }

  // --- who is outside, in the order in which each line is served ---
  Line prompts();
  Line by_date(bool decodes);
  Line paced_answers();
  Line backlog();

  // --- a plan ---
  void gather();
  void relieve();
  void bring_overdue();
  void bring_prompts();
  void bring_due();
  void bring_others();
  bool bring(NaiveSequence& s, Keeps over, double later_than);
  bool make_room(std::int64_t need, Keeps over, double later_than);
  void take_in(NaiveSequence& s, std::int64_t need);
  bool evict(bool forced);
  bool set_aside_if_stuck(NaiveSequence& s);
  void fill();
  NaiveSequence& who_goes();
  std::pair<Keeps, double> keeps(const NaiveSequence& s) const;
  std::int64_t wanted(const NaiveSequence& s, std::uint32_t tokens) const;
  std::int64_t claim(const NaiveSequence& s) const;
  std::int64_t next_token(const NaiveSequence& s) const;
  std::int64_t claimed() const;
  std::int64_t urgent() const;
  std::size_t inside() const;
  bool copies_under_way() const;
  bool memory_changes_hands() const;
  std::int64_t room() const { return free_blocks() + coming_blocks(); }

  // State of the plan being made.
  Line running_, fresh_;
  std::int64_t promised_ = 0;  // blocks claimed by who is let in, or will be
  std::uint32_t window_ = 0;
  bool blocked_ = false, refused_ = false;

  bool hosts_nearer_ = options_.host_seconds_per_block != 0 &&
                       options_.host_seconds_per_block < options_.peer_seconds_per_block;
  // Page-outs since it changed which is nearer, and the number of the one that tries the other
  // tier.
  std::uint64_t outs_ = 0, next_try_ = 256, apart_ = 256;
  std::vector<Tier> told_;
  std::optional<double> time_;
  std::vector<std::uint32_t> ended_;  // lengths of answers
  std::uint64_t iterations_ = 0, last_date_ = 0, last_plan_ = 0;
  std::uint32_t largest_ = 1;
  double iteration_s_ = 0, last_plan_s_ = 0, last_computed_s_ = 0;
  Mean decodes_, seconds_;  // of iterations in which somebody waited outside
  Cost decoding_s_, prompt_token_s_;
  Mean return_s_;
  double moved_s_ = 0;                                        // the time, when it last moved on …
  std::uint64_t moved_at_ = 0;                                // … and the iteration
  bool idled_ = true;                                         // nobody was there for a while since
  bool could_repeat_ = false;                                 // the last batch
  std::optional<std::pair<double, std::uint64_t>> row_from_;  // since when, and which iteration
  std::uint64_t measured_ = 0;
  std::size_t last_decodes_ = 0, last_prompt_tokens_ = 0;
  bool contended_ = false;
  std::uint64_t calm_for_ = 0, found_for_ = 0;  // iterations
  Sharing found_ = Sharing::whole;
  Line served_;
  Sharing sharing_ = Sharing::whole;
  std::array<std::uint64_t, kSharings.size()> switched_to_{};
};

}  // namespace aqua::schedule::test
