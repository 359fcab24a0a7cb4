// SPDX-License-Identifier: Apache-2.0
// AutoScheduler schedules for the pace that readers are promised
// (SchedulerOptions::seconds_per_token). docs/engine/scheduling.md has the rules, and the bound on
// waits.
//
// Prompts come first, by arrival and length. An answer that is paced is due its next token at a
// time; while it is ahead of its pace it may wait outside for those that are not. As many are paced
// as the engine was seen to sustain. The others are the backlog: they get what is left, first come,
// first served. Who waited for long is overdue, and comes before everybody.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "systems/schedule/decide/answer_lengths.hpp"
#include "systems/schedule/decide/auto_queues.hpp"
#include "systems/schedule/decide/running_mean.hpp"
#include "systems/schedule/decide/scheduler_base.hpp"

namespace aqua::schedule {

class AutoScheduler final : public SchedulerBase {
 public:
  using SchedulerBase::SchedulerBase;
  [[nodiscard]] std::string_view name() const noexcept override { return "auto"; }

 protected:
  void plan() override;
  [[nodiscard]] double service_of(Slot slot) const override { return token_due(slot); }
  [[nodiscard]] double lead_of(Slot slot) const override {
    return shares_[slot].answers ? token_due(slot) - now() : 0;
  }
  [[nodiscard]] Tier tier_out() noexcept override;
  void on_costs(Tier told) override;
  void describe(SchedulerStatus& status) const noexcept override;
  [[nodiscard]] bool heeds_time() const noexcept override { return true; }
  void on_outside(Slot slot) override;
  void on_leave(Slot slot) override;
  void on_paging_in(Slot slot) override;
  void on_resident(Slot slot) override;
  void on_computed(Slot slot, std::uint32_t tokens, std::uint32_t generated,
                   std::uint32_t iterations) override;
  void on_committed(std::uint32_t iterations) override;
  void on_answered(Slot slot) override { lengths_.ended(table_.at(slot).generated); }
  void on_finished(Slot slot) override;

 private:
  static constexpr std::uint64_t kFirstTry = 256, kRarestTry = 16384;  // page-outs
  // Who keeps a place longest when room is made.
  enum class Claim : std::uint8_t { held, prompt, paced, backlog };
  struct Share {
    double place = 0;                    // seconds: of a prompt, in the line of prompts
    double paced_from = 0;               // seconds: of its pace's beginning …
    double pace = 0;                     // … what it promises between two tokens …
    std::uint32_t tokens = 0;            // … and the tokens generated since
    std::optional<double> comes_from{};  // seconds: when its page-in was ordered
    std::uint64_t since = 0;             // iteration of the last service, or of the arrival
    std::uint64_t overdue_from = 0;      // iteration
    std::uint64_t held_until = 0;        // until this iteration nobody takes its place
    std::uint64_t handled =
        0;                 // the last plan that let it in, claimed blocks for it or sent it out
    bool answers = false;  // has its first token
    bool paced = false;
    bool known = false;
    bool placed = false;
  };
  struct Room {
    std::int64_t claimed = 0;  // blocks that residents want beyond theirs, and who is let in wants
    std::int64_t urgent = 0;   // of these, by the decodes of the next iteration
    std::uint32_t window = 0;  // prompt tokens for which memory is still made
    bool sorted = false;       // running_ is in order, who goes first at its end
    bool blocked = false;      // somebody waits for blocks: nobody else may take them
    std::size_t prompts = 0;   // of fresh_
  };

  void file(Slot slot);
  void place_newcomers();
  void set_date(Share& its);
  [[nodiscard]] double now() const noexcept;
  Share& share(Slot slot);
  // Whether a block comes back from the host in less than `part` of what lent memory takes.
  [[nodiscard]] bool host_within(double part) const noexcept {
    const double host = options_.host_seconds_per_block;
    return host > 0 && host < part * options_.peer_seconds_per_block;
  }
  // Has a prefill ahead: a prompt, or an answer that is computed again.
  [[nodiscard]] bool prefills(Slot slot) const { return !table_.at(slot).decodes(); }
  [[nodiscard]] bool overdue(Slot slot) const { return shares_[slot].overdue_from <= iterations_; }
  [[nodiscard]] bool handled(Slot slot) const { return shares_[slot].handled == this_plan_; }

  // --- what was seen, and who is paced by it (auto_pace.cpp) -------------------------------------
  void learn();
  void learn_costs(double at);
  void time_repeated();
  void measure(double iterations, double took, double since);
  [[nodiscard]] double within_reason(double iterations, double since) const;
  void end_return(Share& its);
  void promote();
  void demote();
  void begin_answer(Slot slot, double from);
  void set_pace(Slot slot, bool paced);
  // Whether those at their pace and `more` are at most `part` of what the engine sustains.
  [[nodiscard]] bool sustains(std::int64_t more, double part) const noexcept;
  [[nodiscard]] double asked_per_second() const noexcept;
  [[nodiscard]] double sustained_per_second() const noexcept;
  // Tokens that its pace asks for in seconds_per_token, in millionths.
  [[nodiscard]] std::int64_t load_of(const Share& its) const;
  [[nodiscard]] double pace_for(Slot slot) const;
  void begin_pace(Slot slot);
  [[nodiscard]] bool hopeless(Slot slot) const;
  [[nodiscard]] bool gives_up(Slot slot);
  [[nodiscard]] bool behind(Slot slot) const { return token_due(slot) < now(); }
  [[nodiscard]] std::uint64_t window() const noexcept;  // measurements that a mean is taken over
  // For a slice nobody has waited outside.
  [[nodiscard]] bool calm() const noexcept {
    return !contended_ && iterations_ - calm_from_ >= options_.slice_iterations;
  }
  void share_as(Sharing found);
  void switch_sharing(std::uint64_t iteration);
  // When its next token is due, by the pace.
  [[nodiscard]] double token_due(Slot slot) const {
    return shares_[slot].paced_from + shares_[slot].tokens * shares_[slot].pace;
  }

  // --- plans (auto_plan.cpp) ---------------------------------------------------------------------
  void gather(Room& room);
  void relieve(Room& room);
  void bring_overdue(Room& room);
  void bring_prompts(Room& room);
  void bring_due(Room& room);
  void bring_others(Room& room);
  bool bring(Room& room, Slot slot, Claim over, double later_than);
  bool make_room(Room& room, std::int64_t need, Claim over, double later_than);
  bool evict_last(Room& room, bool forced);
  void sort_running(Room& room);
  void let_in(Room& room, Slot slot, std::int64_t need);
  void force_progress();
  [[nodiscard]] std::size_t inside() const noexcept;
  [[nodiscard]] std::int64_t wanted(Slot slot, std::uint32_t tokens) const;
  [[nodiscard]] std::int64_t claim(Slot slot) const;
  [[nodiscard]] std::pair<Claim, double> keep(Slot slot) const;

  // --- the batch (auto_batch.cpp) ----------------------------------------------------------------
  void fill_batch();
  void add_decodes(std::size_t most, std::int64_t& free);
  void add_chunks(std::int64_t free);
  [[nodiscard]] std::uint64_t prompt_tokens_beside(std::size_t decodes) const;
  [[nodiscard]] std::uint32_t iterations_without_change() const;

  AutoQueues queues_;
  std::vector<Share> shares_;
  // Sequences that answer, by arrival, wherever they are. hopeful_: those of the backlog that can
  // still be kept at the pace.
  using ByArrival = std::set<std::pair<std::uint64_t, Slot>>;
  ByArrival paced_, backlog_, hopeful_;
  std::int64_t paced_load_ = 0;  // of all that are paced
  std::vector<Slot> running_;    // residents that stay, while a plan is made
  std::vector<std::tuple<std::pair<Claim, double>, std::uint64_t, Slot>> by_keep_;  // while sorted
  std::vector<Slot> fresh_;             // who waited and is let in by this plan
  std::vector<Slot> decodes_, chunks_;  // of both, while a batch is filled
  std::vector<Slot> newcomers_;         // since the last plan
  std::vector<Slot> served_;            // by the commit under way
  std::size_t returning_ = 0;           // sequences that answer and are paging in
  std::uint64_t this_plan_ = 0;         // made in all
  std::uint64_t iterations_ = 0;        // computed in all
  std::uint64_t last_date_ = 0;
  std::uint32_t largest_ = 1;  // the most blocks ever held by one

  // What was seen while somebody waited outside.
  AnswerLengths lengths_;
  double iteration_s_ = 0;
  RunningMean mean_decodes_, mean_seconds_;  // of iterations
  std::uint64_t measured_ = 0;
  // Seconds of an iteration without prompts, of a token of a prompt beside it, of a return.
  RunningCost decoding_s_, prompt_token_s_;
  RunningMean return_s_;
  double timed_to_s_ = 0;       // seconds: when the time last moved on …
  std::uint64_t timed_to_ = 0;  // … and iterations_ then
  bool idled_ = true;           // since then there was a time when nobody was there
  double last_plan_s_ = 0;
  double stood_from_ = 0;        // seconds: since then no iteration was counted
  std::uint64_t last_plan_ = 0;  // iterations_ then
  std::size_t last_decodes_ = 0;
  std::uint32_t last_chunk_tokens_ = 0;
  bool unchanging_ = false;  // the last batch: nobody is outside or on the way, and all decode
  struct Moment {
    double at = 0;  // seconds
    std::uint64_t iteration = 0;
  };
  std::optional<Moment> repeated_{};  // when such batches began

  // Which tier page-outs go to (auto_tiers.cpp).
  bool host_is_nearer_ = host_within(1);
  bool host_told_ = false, peer_told_ = false;  // by set_seconds_per_block()
  std::uint64_t outs_ = 0;                      // page-outs since the other tier was tried …
  std::uint64_t try_after_ = kFirstTry;         // … and after how many it is again

  bool contended_ = false;  // somebody that answers is outside or comes in, or anybody goes out
  std::uint64_t calm_from_ = 0;  // unless contended_: the iteration from which it is not
  bool refused_ = false;         // somebody kept a place because the swap space is full
  Sharing sharing_ = Sharing::whole;
  Sharing found_ = Sharing::whole;  // by the last plan …
  std::uint64_t found_from_ = 0;    // … and by all from this iteration on
  std::array<std::uint64_t, kSharings.size()> switched_to_{};
};

}  // namespace aqua::schedule
