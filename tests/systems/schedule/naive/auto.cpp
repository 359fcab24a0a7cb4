// SPDX-License-Identifier: Apache-2.0
#include "tests/systems/schedule/naive/auto.hpp"

#include <bit>
#include <cmath>

namespace aqua::schedule::test {

// --- what happens ------------------------------------------------------------------------------

Result<void> NaiveAuto::set_time(double seconds) {
  if (time_ != seconds) changed();
  time_ = seconds;
  return {};
}

Result<void> NaiveAuto::set_seconds_per_block(Tier tier, double seconds) {
  double& host = options_.host_seconds_per_block;
  double& peer = options_.peer_seconds_per_block;
  (tier == Tier::host ? host : peer) = seconds;
  told_.push_back(tier);
  const bool before = hosts_nearer_;
  if (host == 0 || host >= peer) {
    hosts_nearer_ = false;
  } else if (host < 0.8 * peer) {
    hosts_nearer_ = true;
  }
  if (before != hosts_nearer_) {
    outs_ = 0;
    next_try_ = apart_ = 256;
  }
  return {};
}

Tier NaiveAuto::tier_out() {
  const Tier nearer = hosts_nearer_ ? Tier::host : Tier::peer;
  const Tier other = hosts_nearer_ ? Tier::peer : Tier::host;
  const bool lent = options_.swap_tier == Tier::peer;
  if (nearer == Tier::peer && !lent) return options_.swap_tier;  // for want of room
  if (std::find(told_.begin(), told_.end(), other) == told_.end()) return nearer;
  if (++outs_ < next_try_ || !lent) return nearer;
  apart_ = std::min<std::uint64_t>(apart_ * 2, 16384);
  next_try_ = outs_ + apart_;
  return other;
}

void NaiveAuto::arrived(NaiveSequence& s) {
  s.since = iterations_;
  date(s);
  if (s.generated > 0) begin_answer(s, now() + s.request.lead);
}

void NaiveAuto::date(NaiveSequence& s) {
  const std::size_t places = std::max<std::size_t>(1, options_.device_blocks / largest_);
  const std::uint64_t rounds = 8 * ((all_.size() + places - 1) / places);
  last_date_ = std::max(last_date_, s.since + rounds * options_.slice_iterations);
  s.due = last_date_;
}

void NaiveAuto::entered(NaiveSequence& s) {
  if (s.state == SequenceState::swapped) s.comes_from = now();  // its page-in is being ordered
}

void NaiveAuto::became_outside(NaiveSequence& s) {
  s.held_until = 0;
  s.comes_from = -1;
}

void NaiveAuto::became_resident(NaiveSequence& s) {
  if (s.comes_from < 0) return;  // it has never left: its page-out failed
  if (s.generated > 0) average(return_s_, now() - s.comes_from);
  s.comes_from = -1;
  if (s.held_until > 0) s.held_until = iterations_ + options_.slice_iterations;
}

void NaiveAuto::served(NaiveSequence& s, std::uint32_t /*tokens*/, std::uint32_t generated) {
  if (overdue(s)) s.held_until = iterations_ + options_.slice_iterations;
  s.since = iterations_ + 1;
  served_.push_back(&s);
  largest_ = std::max(largest_, s.device_blocks);
  if (generated == 0) return;
  if (!s.answers) begin_answer(s, now() + iteration_s_);
  s.tokens += generated;
}

void NaiveAuto::begin_answer(NaiveSequence& s, double from) {
  s.answers = s.paced = true;
  begin_pace(s, from);
  const bool others_wait = count([](const auto& x) { return x.hopeful; }) > 0;
  if (contended_ && (others_wait || !sustains(load(), 0.75))) pace(s, false);
}

void NaiveAuto::committed() {
  iterations_ += 1;
  if (!contended_) calm_for_ += 1;
  found_for_ += 1;
  for (NaiveSequence* s : served_) date(*s);
  served_.clear();
}

// --- what was seen -----------------------------------------------------------------------------

double NaiveAuto::now() const {
  return time_.value_or(static_cast<double>(iterations_) * options_.seconds_per_token / 2);
}

double NaiveAuto::token_due(const NaiveSequence& s) const {
  return s.paced_from + s.tokens * s.pace;
}

// The quickest pace. Above weight 1: a token every second iteration at most, yet never less than
// weight 1 has.
double NaiveAuto::quickest(const NaiveSequence& s) const {
  const double one = options_.seconds_per_token, asked = one / s.request.weight;
  if (asked >= one) return asked;
  return iteration_s_ > 0 ? std::clamp(2 * iteration_s_, asked, one) : one;
}

void NaiveAuto::begin_pace(NaiveSequence& s, double from) {
  s.pace = quickest(s);
  s.paced_from = from;
  s.tokens = 0;
}

std::size_t NaiveAuto::count(const Select& wanted) const {
  std::size_t many = 0;
  for (const auto& [arrival, s] : all_) many += wanted(s);
  return many;
}

std::size_t NaiveAuto::paced() const {
  return count([](const auto& s) { return s.paced; });
}

void NaiveAuto::pace(NaiveSequence& s, bool paced) {
  s.paced = paced;
  s.hopeful = !paced;
}

// Counted in millionths of an answer of weight 1.
double NaiveAuto::load(const NaiveSequence* other) const {
  long long millionths = 0;
  for (const auto& [arrival, s] : all_) {
    if (s.paced || &s == other)
      millionths += std::llround(1e6 * options_.seconds_per_token / s.pace);
  }
  return static_cast<double>(millionths) / 1e6;
}

bool NaiveAuto::sustains(double load, double part) const {
  return measured_ < 16 ||
         load * seconds_.value <= part * decodes_.value * options_.seconds_per_token;
}

bool NaiveAuto::hopeless(const NaiveSequence& s) const {
  double answers = 0, tokens = 0;
  for (const std::uint32_t length : ended_) {
    if (length == 0 || std::bit_width(length) < std::bit_width(std::max(s.generated, 1U))) continue;
    answers += 1;
    tokens += length;
  }
  const double remaining = answers > 0 ? std::max(tokens / answers - s.generated, 1.0) : 128;
  return now() - token_due(s) > std::max(0.0, s.pace - iteration_s_) * remaining;
}

bool NaiveAuto::gives_up(NaiveSequence& s) {
  if (!hopeless(s)) return false;
  if (quickest(s) <= s.pace) return true;
  begin_pace(s, now());
  return false;
}

// While the time stands still iterations are counted, and share what it then moves on by.
void NaiveAuto::learn_costs() {
  if (idled_) row_from_.reset();
  const double moved = now() - moved_s_;
  const std::uint64_t iterations = idled_ ? 0 : iterations_ - moved_at_;
  if (!time_ || moved <= 0) return;
  moved_s_ = now();
  moved_at_ = iterations_;
  idled_ = false;
  if (iterations == 0 || could_repeat_) return;
  if (last_prompt_tokens_ == 0) {
    add_to(decoding_s_, moved, static_cast<double>(iterations));
  } else if (iterations == 1) {
    add_to(prompt_token_s_, std::max(0.0, moved - decoding_s_.each()),
           static_cast<double>(last_prompt_tokens_));
  }
}

// Means of what is seen while somebody waits outside: over a slice, of 16 at least; of what is
// sustained, over four. And at any time what iterations without prompts take, and prompts' tokens.
void NaiveAuto::learn() {
  if (calm()) measured_ = decodes_.of = seconds_.of = 0;
  const double took = now() - last_plan_s_;
  const auto iterations = static_cast<double>(iterations_ - last_plan_);
  learn_costs();
  if (contended_ && iterations > 0 && took > 0) {
    const bool first_ones = ++measured_ <= 16;
    const double each = took / iterations;
    const double part = 1.0 / weighs(measured_);
    if (first_ones) {
      iteration_s_ = measured_ > 1 && iteration_s_ < each ? iteration_s_ : each;
    } else if (each > 8 * iteration_s_) {
      iteration_s_ += part * (8 * iteration_s_ - iteration_s_);
    } else {
      iteration_s_ += part * (each - iteration_s_);
    }
    // Stalls are in it: from the last iteration on, or from when somebody began to wait.
    const double least = iterations * iteration_s_ / 8;
    const double most = first_ones ? iterations * iteration_s_ : seconds_.value;
    average(seconds_, std::max(least, std::min(now() - last_computed_s_, 8 * most)), 4);
    average(decodes_, static_cast<double>(last_decodes_) * iterations, 4);
  }
  if (iterations > 0 || !contended_) last_computed_s_ = now();
  last_plan_s_ = now();
  last_plan_ = iterations_;
}

void NaiveAuto::demote() {
  if (!contended_) return;
  while (paced() > 1 && !sustains(load(), 0.95)) {
    pace(*select([](const auto& s) { return s.paced; }).back(), false);
  }
  for (NaiveSequence* s : select([](const auto& x) { return x.resident() && x.paced; })) {
    if (measured_ >= 16 && s->pace >= 2 * quickest(*s)) begin_pace(*s, now());
    if (token_due(*s) < now() && gives_up(*s)) pace(*s, false);
  }
}

void NaiveAuto::promote() {
  if (!contended_ && !calm()) return;
  const auto who = [&](const auto& s) { return contended_ ? s.hopeful : s.answers && !s.paced; };
  for (Line line = select(who); !line.empty(); line = select(who)) {
    NaiveSequence& s = *line.back();
    if (contended_ && !sustains(load(&s), 0.75)) return;
    const bool late = gives_up(s);
    if (late && contended_) {
      s.hopeful = false;
      continue;
    }
    if (late) begin_pace(s, now());
    pace(s, true);
  }
}

// --- lines -------------------------------------------------------------------------------------

NaiveAuto::Line NaiveAuto::prompts() {
  Line line = select([](const auto& s) { return s.outside() && !s.answers; });
  sort_by(line, [](const auto& s) { return s.place; });
  return line;
}

NaiveAuto::Line NaiveAuto::by_date(bool decodes) {
  Line line = select([&](const auto& s) { return s.outside() && s.decodes() == decodes; });
  sort_by(line, [](const auto& s) { return s.due; });
  return line;
}

NaiveAuto::Line NaiveAuto::paced_answers() {
  Line line = select([](const auto& s) { return s.outside() && s.answers && s.paced; });
  sort_by(line, [&](const auto& s) { return token_due(s); });
  return line;
}

NaiveAuto::Line NaiveAuto::backlog() {
  return select([](const auto& s) { return s.outside() && s.answers && !s.paced; });
}

}  // namespace aqua::schedule::test
