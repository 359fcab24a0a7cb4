// SPDX-License-Identifier: Apache-2.0
// NaiveAuto: who is let in, who makes room, and what is computed.
#include <limits>

#include "tests/systems/schedule/naive/auto.hpp"

namespace aqua::schedule::test {
namespace {

constexpr double kLongAgo = -std::numeric_limits<double>::infinity();

}  // namespace

void NaiveAuto::plan() {
  learn();
  for (auto& [arrival, s] : all_) {
    if (s.place < 0) s.place = now() + 6 * prompt_token_s_.each() * s.pending();
  }
  demote();
  promote();
  gather();
  relieve();
  bring_overdue();
  bring_prompts();
  bring_due();
  bring_others();
  fill();
  if (!batch_.computes() && !batch_.moves() && !copies_under_way() && !running_.empty()) {
    order_out(who_goes(), Preemption::How::recompute);
  }
  contended_ = !paced_answers().empty() || !backlog().empty() || memory_changes_hands();
  if (contended_) calm_for_ = 0;
  last_decodes_ = batch_.decodes.size();
  could_repeat_ = batch_.prefills.empty() && fresh_.empty() && !batch_.decodes.empty() &&
                  batch_.decodes.size() == running_.size() && !copies_under_way() &&
                  count([](const auto& s) { return s.outside(); }) == 0;
  // All that could be repeated, in a row, are one for the mean.
  if (time_ && !could_repeat_ && row_from_) {
    const auto [from_s, from] = *row_from_;
    row_from_.reset();
    if (iterations_ > from && now() > from_s) {
      add_to(decoding_s_, now() - from_s, static_cast<double>(iterations_ - from));
    }
  } else if (time_ && could_repeat_ && !row_from_) {
    row_from_ = {now(), iterations_};
  }
  last_prompt_tokens_ = 0;
  for (const PrefillChunk& chunk : batch_.prefills) last_prompt_tokens_ += chunk.tokens;
  const bool all_paced = count([](const auto& s) { return s.answers && !s.paced; }) == 0;
  const Sharing is = refused_      ? Sharing::none
                     : !contended_ ? Sharing::whole
                     : all_paced   ? Sharing::fair
                                   : Sharing::partial;
  if (is != found_) found_for_ = 0;
  found_ = is;
  if (is == sharing_ || found_for_ < options_.slice_iterations) return;
  switched_to_[static_cast<std::size_t>(is)] += 1;
  sharing_ = is;
}

bool NaiveAuto::set_aside_if_stuck(NaiveSequence& s) {
  if (!too_large(s)) return false;
  set_aside(s);
  return true;
}

std::int64_t NaiveAuto::wanted(const NaiveSequence& s, std::uint32_t tokens) const {
  const std::uint32_t limit = s.request.max_new_tokens;
  if (limit > 0) tokens = std::min(tokens, limit > s.generated ? limit - s.generated : 1);
  return std::min(blocks_for(std::uint64_t{s.known()} + tokens - 1), options_.device_blocks);
}

std::int64_t NaiveAuto::claim(const NaiveSequence& s) const {
  const std::uint32_t ahead = s.decodes() ? std::min(4U, options_.slice_iterations) : 1;
  return wanted(s, ahead) - s.device_blocks;
}

std::int64_t NaiveAuto::next_token(const NaiveSequence& s) const {
  return std::int64_t{blocks_for(s.computed + std::uint64_t{1})} - s.device_blocks;
}

std::int64_t NaiveAuto::claimed() const {
  std::int64_t sum = promised_;
  for (const NaiveSequence* s : running_) sum += claim(*s);
  return sum;
}

std::int64_t NaiveAuto::urgent() const {
  std::int64_t sum = 0;
  for (const NaiveSequence* s : running_) sum += s->decodes() ? next_token(*s) : 0;
  return sum;
}

bool NaiveAuto::copies_under_way() const {
  return count([](const auto& s) {
           return s.state == SequenceState::paging_out || s.state == SequenceState::paging_in;
         }) > 0;
}

// Somebody goes out, or an answer comes back. A prompt comes in with what is cached of it.
bool NaiveAuto::memory_changes_hands() const {
  return count([](const auto& s) {
           return s.state == SequenceState::paging_out ||
                  (s.state == SequenceState::paging_in && s.generated > 0);
         }) > 0;
}

std::size_t NaiveAuto::inside() const {
  const auto comes = [](const auto& s) { return s.state == SequenceState::paging_in; };
  return running_.size() + fresh_.size() + count(comes);
}

void NaiveAuto::gather() {
  refused_ = blocked_ = false;
  promised_ = 0;
  fresh_.clear();
  running_.clear();
  for (auto& [arrival, s] : all_) s.looked_at = false;
  for (NaiveSequence* s : select([](const auto& x) { return x.resident(); })) {
    if (!set_aside_if_stuck(*s)) running_.push_back(s);
  }
  const auto decode = std::count_if(running_.begin(), running_.end(),
                                    [](const NaiveSequence* s) { return s->decodes(); });
  const std::uint32_t most = options_.budget_tokens - options_.min_prefill_tokens;
  window_ = 2 * static_cast<std::uint32_t>(prompt_tokens_beside(
                    std::min<std::size_t>(static_cast<std::size_t>(decode), most)));
  for (const NaiveSequence* s : running_) {
    if (!s->decodes()) window_ -= std::min(window_, s->pending());
  }
}

std::pair<NaiveAuto::Keeps, double> NaiveAuto::keeps(const NaiveSequence& s) const {
  const auto arrival = static_cast<double>(s.arrival);
  // What would be dropped half computed is computed to its end.
  const bool half = !s.decodes() && how_wanted(s) == Preemption::How::recompute;
  if (half || s.held_until > iterations_) return {Keeps::held, static_cast<double>(s.since)};
  if (!s.decodes()) return {Keeps::prompt, arrival};
  return s.paced ? std::pair{Keeps::paced, token_due(s)} : std::pair{Keeps::backlog, arrival};
}

NaiveSequence& NaiveAuto::who_goes() {
  Line line = running_;
  sort_by(line, [&](const auto& s) { return keeps(s); });
  return *line.back();
}

bool NaiveAuto::evict(bool forced) {
  NaiveSequence& s = who_goes();
  if (how_out(s) != how_wanted(s) && !forced) {
    refused_ = true;
    return false;
  }
  std::erase(running_, &s);
  order_out(s, how_out(s));
  return true;
}

void NaiveAuto::relieve() {
  if (claimed() <= room()) return;
  while (claimed() > room() && running_.size() > 1) {
    if (keeps(who_goes()).first == Keeps::held || !evict(false)) break;
  }
  while ((urgent() > room() && running_.size() > 1) || (room() < 0 && !running_.empty())) {
    (void)evict(true);
  }
}

// Who would have to go is picked first: from the last on, as few as it takes. All of them go, or
// nobody.
bool NaiveAuto::make_room(std::int64_t need, Keeps over, double later_than) {
  const Line before = running_;
  Line go;
  const auto enough = [&] {
    std::int64_t blocks = room();
    for (const NaiveSequence* s : go) blocks += s->device_blocks;
    return claimed() + need <= blocks && inside() < most_sequences();
  };
  const auto may_go = [&](const NaiveSequence& s) {
    const auto [kept, value] = keeps(s);
    return kept > over && (kept != Keeps::paced || value > later_than);
  };
  bool can = true;
  while (can && !enough()) {
    can = !running_.empty() && may_go(who_goes());
    if (!can) break;
    go.push_back(&who_goes());
    std::erase(running_, go.back());
    std::uint64_t more = 0;
    for (const NaiveSequence* s : go) {
      if (how_wanted(*s) == Preemption::How::swap) more += s->device_blocks;
    }
    can = more == 0 || fits_swapped(more);
    refused_ |= !can;
  }
  running_ = before;
  if (!can) return false;
  for (std::size_t i = 0; i < go.size(); ++i) (void)evict(false);
  return true;
}

void NaiveAuto::take_in(NaiveSequence& s, std::int64_t need) {
  const bool fits = claimed() + need <= free_blocks();
  promised_ += need;
  if (!fits) return;
  if (s.state != SequenceState::swapped) return fresh_.push_back(&s);
  if (overdue(s)) s.held_until = iterations_ + options_.slice_iterations;
  order_in(s);
  promised_ -= s.device_blocks;
}

bool NaiveAuto::bring(NaiveSequence& s, Keeps over, double later_than) {
  if (s.ordered || s.looked_at || set_aside_if_stuck(s)) return true;
  s.looked_at = true;
  const std::int64_t need = wanted(s, s.decodes() ? options_.slice_iterations : 1);
  if (!make_room(need, over, later_than)) {
    blocked_ = true;
    return false;
  }
  if (!s.decodes()) window_ -= std::min(window_, s.pending());
  take_in(s, need);
  return true;
}

void NaiveAuto::bring_overdue() {
  Line prefills = by_date(false), decodes = by_date(true);
  while (!blocked_) {
    if (window_ == 0) prefills.clear();
    if (prefills.empty() && decodes.empty()) return;
    const auto key = [](const Line& line) { return std::pair(line[0]->due, line[0]->arrival); };
    const bool first = decodes.empty() || (!prefills.empty() && key(prefills) < key(decodes));
    Line& from = first ? prefills : decodes;
    NaiveSequence& s = *from.front();
    if (!overdue(s)) return;
    from.erase(from.begin());
    (void)bring(s, Keeps::held, kLongAgo);
  }
}

void NaiveAuto::bring_prompts() {
  for (NaiveSequence* s : prompts()) {
    if (window_ == 0 || blocked_) return;
    if (!overdue(*s)) (void)bring(*s, Keeps::prompt, kLongAgo);
  }
}

void NaiveAuto::bring_due() {
  const double comes = now() + return_s_.value + 2 * iteration_s_;
  for (NaiveSequence* s : paced_answers()) {
    if (token_due(*s) > comes || blocked_) return;
    if (overdue(*s) || s->ordered || s->looked_at) continue;
    if (!s->decodes() && window_ == 0) continue;
    if (gives_up(*s)) {
      pace(*s, false);
    } else {
      const double most = std::min(s->pace, options_.seconds_per_token);
      const double gains = std::max(0.0, most - iteration_s_);
      (void)bring(*s, Keeps::prompt, comes + gains * options_.slice_iterations);
    }
  }
}

void NaiveAuto::bring_others() {
  const auto new_one = [](const NaiveSequence* s) { return !s->answers; };
  const auto prompts_in = std::count_if(fresh_.begin(), fresh_.end(), new_one);
  if (blocked_ || coming_blocks() > 0 || std::ssize(prompts()) > prompts_in) return;
  const std::uint32_t n = options_.slice_iterations;
  const std::int64_t growth = static_cast<std::int64_t>(inside()) * n / (2 * options_.block_tokens);
  Line line = paced_answers();
  const Line behind = backlog();
  line.insert(line.end(), behind.begin(), behind.end());
  for (NaiveSequence* s : line) {
    if (s->ordered || s->looked_at || set_aside_if_stuck(*s)) continue;
    if (!s->decodes() && window_ == 0) return;
    const std::int64_t need = wanted(*s, s->decodes() ? n : 1);
    if (inside() >= most_sequences()) return;
    if (claimed() + need + (inside() > 0 ? growth : 0) > free_blocks()) return;
    if (!s->decodes()) window_ -= std::min(window_, s->pending());
    take_in(*s, need);
  }
}

// Answers keep their pace: with prompts an iteration takes 0.9 of it at most. Where they would
// hardly keep it without, prompts take no longer than they do.
std::uint64_t NaiveAuto::prompt_tokens_beside(std::size_t decodes) const {
  const std::uint64_t all = options_.budget_tokens - decodes;
  const double alone = decoding_s_.each();
  const double time = std::max(alone, 0.9 * options_.seconds_per_token - alone);
  const bool fits = time >= prompt_token_s_.each() * static_cast<double>(all);
  if (decodes == 0 || alone == 0 || fits) return all;
  return std::max<std::uint64_t>(options_.min_prefill_tokens,
                                 static_cast<std::uint64_t>(time / prompt_token_s_.each()));
}

// Decodes but for the share of prompts, who waits longest first where not all can; then prompts.
void NaiveAuto::fill() {
  Line decodes, chunks;
  for (NaiveSequence* s : running_) (s->decodes() ? decodes : chunks).push_back(s);
  sort_by(chunks, [](const auto&) { return 0; });
  chunks.insert(chunks.end(), fresh_.begin(), fresh_.end());
  std::size_t most = most_sequences();
  if (!chunks.empty()) {
    if (most > 1) most -= 1;
    most = std::min<std::size_t>(most, options_.budget_tokens - options_.min_prefill_tokens);
  }
  most = std::min<std::size_t>(most, options_.budget_tokens);
  std::int64_t free = free_blocks();
  const bool all = decodes.size() <= most && urgent() <= free;
  sort_by(decodes, [&](const auto& s) { return all ? 0 : s.since; });
  for (NaiveSequence* s : decodes) {
    if (batch_.decodes.size() == most || next_token(*s) > free) continue;
    free -= next_token(*s);
    add_decode(*s);
  }
  std::uint64_t tokens = prompt_tokens_beside(batch_.decodes.size());
  for (NaiveSequence* s : chunks) {
    if (batch_.decodes.size() + batch_.prefills.size() == most_sequences()) return;
    const auto blocks = static_cast<std::uint64_t>(std::max<std::int64_t>(free, 0));
    const std::uint64_t room = (blocks + s->device_blocks) * options_.block_tokens - s->computed;
    const std::uint64_t chunk = std::min<std::uint64_t>({tokens, s->pending(), room});
    if (chunk == 0) continue;
    free -= std::int64_t{blocks_for(s->computed + chunk)} - s->device_blocks;
    add_prefill(*s, static_cast<std::uint32_t>(chunk));
    tokens -= chunk;
  }
}

SchedulerStatus NaiveAuto::status() const noexcept {
  SchedulerStatus status = NaiveScheduler::status();
  status.sharing = sharing_;
  status.switched_to = switched_to_;
  status.paced = paced();
  status.backlog = count([](const auto& s) { return s.answers && !s.paced; });
  status.asked_per_second = load() / options_.seconds_per_token;
  if (contended_ && measured_ >= 16 && seconds_.value > 0)
    status.sustained_per_second = decodes_.value / seconds_.value;
  return status;
}

}  // namespace aqua::schedule::test
