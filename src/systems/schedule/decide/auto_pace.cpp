// SPDX-License-Identifier: Apache-2.0
// AutoScheduler: what was seen of the engine, and who is kept at a pace by it.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "systems/schedule/decide/auto_scheduler.hpp"

namespace aqua::schedule {
namespace {

// Somebody is paced up to the first part of what the engine sustains, and sent back beyond the
// second, so that no breath of load does both.
constexpr double kPromoteBelow = 0.75;
constexpr double kDemoteAbove = 0.95;
// Iterations that have to be measured before anybody is sent back by them, and the fewest that a
// mean is taken over: a few are noise.
constexpr std::uint64_t kTrusted = 16;
constexpr double kOutlier = 8;
// Windows over which what is sustained is averaged: some iterations have prompts and some have
// none, and who is paced stays so for a whole answer.
constexpr std::uint64_t kSustained = 4;
constexpr double kUnseenAnswer = 128;  // tokens, until an answer has ended
constexpr double kMillionths = 1e6;
// Iterations between two tokens of an answer of the greatest weight: what is left of the time is
// for catching up.
constexpr double kQuickest = 2;

}  // namespace

// Measures iterations while somebody waits outside: an engine that has room for all sustains them.
// Time in which nothing was computed, because copies were under way, counts in what is sustained
// and not in how long an iteration takes. After a slice in which nobody waited all begins anew.
void AutoScheduler::learn() {
  const double at = now();
  const double took = at - last_plan_s_;
  const auto iterations = static_cast<double>(iterations_ - last_plan_);
  learn_costs(at);
  if (calm()) {
    measured_ = 0;
    mean_decodes_.begin_anew();
    mean_seconds_.begin_anew();
  }
  if (contended_ && iterations > 0 && took > 0) measure(iterations, took, at - stood_from_);
  if (!contended_ || iterations > 0) stood_from_ = at;
  last_plan_s_ = at;
  last_plan_ = iterations_;
}

// What an iteration takes without prompts, and what each token of a prompt adds to it. Of several
// that were computed at one time each took a part. Nothing is learnt where an engine had nothing to
// do, or tells no time.
void AutoScheduler::learn_costs(double at) {
  if (idled_) repeated_.reset();
  if (!time() || at <= timed_to_s_) return;
  const auto iterations = static_cast<double>(iterations_ - std::exchange(timed_to_, iterations_));
  const double took = at - std::exchange(timed_to_s_, at);
  if (std::exchange(idled_, false) || iterations == 0 || unchanging_) return;
  if (last_chunk_tokens_ == 0) {
    decoding_s_.add(took, iterations, window());
  } else if (iterations == 1) {
    prompt_token_s_.add(std::max(0.0, took - decoding_s_.value()), last_chunk_tokens_, window());
  }
}

// Learns from batches that an engine may repeat when the last of a row is over, once for all of
// them: one that commits them one by one is to learn the same as one that commits them at once.
void AutoScheduler::time_repeated() {
  if (!time()) return;
  if (unchanging_) {
    if (!repeated_) repeated_ = {now(), iterations_};
    return;
  }
  if (!repeated_) return;
  const auto [from_s, from] = *std::exchange(repeated_, std::nullopt);
  if (iterations_ == from || now() <= from_s) return;
  decoding_s_.add(now() - from_s, static_cast<double>(iterations_ - from), window());
}

// The shortest of the first that are measured is taken for an iteration, since whatever else
// happens makes one longer and none shorter; later a long one counts for no more than kOutlier
// means.
void AutoScheduler::measure(double iterations, double took, double since) {
  measured_ += 1;
  const double one = took / iterations;
  const double part = 1.0 / static_cast<double>(std::min(measured_, window()));
  if (measured_ <= kTrusted) {
    iteration_s_ = measured_ == 1 ? one : std::min(iteration_s_, one);
  } else {
    iteration_s_ += part * (std::min(one, kOutlier * iteration_s_) - iteration_s_);
  }
  mean_decodes_.add(static_cast<double>(last_decodes_) * iterations, kSustained * window());
  mean_seconds_.add(within_reason(iterations, since), kSustained * window());
}

// Whatever else a machine does makes a time longer: of one no more counts than kOutlier means, and
// of the first as many of the shortest. Nor does an engine that tells a time too late compute
// faster than iterations are.
double AutoScheduler::within_reason(double iterations, double since) const {
  const double shortest = iterations * iteration_s_;
  const double most = measured_ <= kTrusted ? shortest : mean_seconds_.value();
  return std::clamp(since, shortest / kOutlier, std::max(shortest / kOutlier, kOutlier * most));
}

// True as long as too little was measured to say: nobody is sent back on a guess.
bool AutoScheduler::sustains(std::int64_t more, double part) const noexcept {
  if (measured_ < kTrusted) return true;
  const double asked = static_cast<double>(paced_load_ + more) / kMillionths;
  return asked * mean_seconds_.value() <= part * mean_decodes_.value() * options_.seconds_per_token;
}

double AutoScheduler::asked_per_second() const noexcept {
  return static_cast<double>(paced_load_) / kMillionths / options_.seconds_per_token;
}

double AutoScheduler::sustained_per_second() const noexcept {
  if (!contended_ || measured_ < kTrusted || mean_seconds_.value() <= 0) return 0;
  return mean_decodes_.value() / mean_seconds_.value();
}

std::int64_t AutoScheduler::load_of(const Share& its) const {
  return std::llround(kMillionths * options_.seconds_per_token / its.pace);
}

// Divides the time between two tokens by the weight, down to what iterations allow: a pace that
// cannot be kept would put those of the greatest weight behind everybody, among the hopeless.
// Before an iteration was measured no weight is promised more than 1.
double AutoScheduler::pace_for(Slot slot) const {
  const double weight = table_.at(slot).weight;
  const double asked = options_.seconds_per_token / weight;
  if (weight <= 1) return asked;
  const double all = options_.seconds_per_token;
  return std::max(asked, iteration_s_ > 0 ? std::min(all, kQuickest * iteration_s_) : all);
}

void AutoScheduler::begin_pace(Slot slot) {
  Share& its = shares_[slot];
  const bool filed = queues_.filed(slot);
  queues_.take(slot);
  if (its.paced) paced_load_ -= load_of(its);
  its.pace = pace_for(slot);
  its.paced_from = now();
  its.tokens = 0;
  if (its.paced) paced_load_ += load_of(its);
  if (filed) file(slot);
}

// Whether it is so far behind that running on until its expected end would not bring its mean back
// to the pace.
bool AutoScheduler::hopeless(Slot slot) const {
  const double gains = std::max(0.0, shares_[slot].pace - iteration_s_);
  const double remaining = lengths_.remaining(table_.at(slot).generated, kUnseenAnswer);
  return now() - token_due(slot) > gains * remaining;
}

// Whether it is hopeless. Where iterations have turned out to be longer than its pace counted on,
// it is not: its pace begins anew.
bool AutoScheduler::gives_up(Slot slot) {
  if (!hopeless(slot)) return false;
  if (pace_for(slot) <= shares_[slot].pace) return true;
  begin_pace(slot);
  return false;
}

// Paces whoever has its first token, or comes with several, from a time on, unless others wait to
// be or there are as many as can be.
void AutoScheduler::begin_answer(Slot slot, double from) {
  Share& its = shares_[slot];
  its.answers = true;
  its.paced_from = from;
  its.pace = pace_for(slot);
  its.paced = true;
  paced_.emplace(table_.at(slot).arrival, slot);
  paced_load_ += load_of(its);
  const bool room = hopeful_.empty() && sustains(0, kPromoteBelow);
  if (contended_ && !room) set_pace(slot, false);
}

void AutoScheduler::set_pace(Slot slot, bool paced) {
  Share& its = shares_[slot];
  if (its.paced == paced) return;
  const bool filed = queues_.filed(slot);
  queues_.take(slot);
  its.paced = paced;
  paced_load_ += paced ? load_of(its) : -load_of(its);
  const std::pair key{table_.at(slot).arrival, slot};
  (paced ? backlog_ : paced_).erase(key);
  (paced ? paced_ : backlog_).insert(key);
  paced ? (void)hopeful_.erase(key) : (void)hopeful_.insert(key);
  if (filed) file(slot);
}

// Paces the backlog again, as many as the engine sustains: who can catch up, the last to come
// first, which is least behind; or all of them when for a slice nobody has waited outside.
void AutoScheduler::promote() {
  if (!contended_ && !calm()) return;
  ByArrival& from = contended_ ? hopeful_ : backlog_;
  while (!from.empty()) {
    const auto last = std::prev(from.end());
    const Slot slot = last->second;
    if (contended_ && !sustains(load_of(shares_[slot]), kPromoteBelow)) return;
    if (gives_up(slot)) {
      if (contended_) {
        hopeful_.erase(last);
        continue;
      }
      begin_pace(slot);
    }
    set_pace(slot, true);
  }
}

// Sends back who came last while there are more than the engine sustains, and, of those inside, who
// cannot catch up any more. Whose pace could be twice as quick as it was promised gets it.
void AutoScheduler::demote() {
  if (!contended_) return;
  while (paced_.size() > 1 && !sustains(0, kDemoteAbove)) {
    set_pace(paced_.rbegin()->second, false);
  }
  for (const auto& [arrival, slot] : table_.residents()) {
    if (!shares_[slot].paced) continue;
    const bool slow = measured_ >= kTrusted && 2 * pace_for(slot) <= shares_[slot].pace;
    if (slow) begin_pace(slot);
    if (behind(slot) && gives_up(slot)) set_pace(slot, false);
  }
}

std::uint64_t AutoScheduler::window() const noexcept {
  return std::max<std::uint64_t>(kTrusted, options_.slice_iterations);
}

// Begins to share so when it has been found for a slice in a row: what a few iterations change is
// no change of sharing.
void AutoScheduler::share_as(Sharing found) {
  if (found != std::exchange(found_, found)) found_from_ = iterations_;
  switch_sharing(iterations_);
}

void AutoScheduler::switch_sharing(std::uint64_t iteration) {
  if (found_ == sharing_ || iteration - found_from_ < options_.slice_iterations) return;
  sharing_ = found_;
  switched_to_[static_cast<std::size_t>(sharing_)] += 1;
}

}  // namespace aqua::schedule
