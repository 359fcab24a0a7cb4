// SPDX-License-Identifier: Apache-2.0
#include "runtime/lend/reclaims.hpp"

#include <algorithm>
#include <utility>

#include "base/concat.hpp"
#include "wire/limits.hpp"

namespace aqua::runtime {

using std::chrono::milliseconds;

namespace {
constexpr milliseconds kLongest{wire::kMaxDurationMs};  // the coordinator takes no longer deadline
// How long after the deadline a reclaim may still end well, for slabs that nobody holds any more.
constexpr milliseconds kReturnGrace{5000};
constexpr milliseconds kLookAgain{50};
// A coordinator that refuses, or that has nothing new to say, answers at once: it is asked no
// faster.
constexpr milliseconds kAskAgain{200};
}  // namespace

std::shared_ptr<ReclaimState> Reclaims::start(std::size_t bytes, milliseconds deadline) {
  const auto now = Clock::now();
  auto state = std::make_shared<ReclaimState>(std::min(bytes, lent_.bytes()), now,
                                              now + std::min(deadline, kLongest));
  if (state->missing_bytes() == 0) {
    state->finish({});
    return state;
  }
  services_.loop.post([this, state] { pending_.push_back({state}); });
  return state;
}

void Reclaims::on_connected(bool new_epoch) {
  for (Pending& pending : pending_) {
    if (new_epoch) pending.ledger_id = 0;
    const bool unanswered = pending.ledger_id == 0 && pending.question.has_value();
    if (new_epoch || unanswered) pending.again = true;
    pending.question.reset();
  }
}

void Reclaims::on_ended(std::uint64_t ledger_id) {
  for (Pending& pending : pending_) {
    if (pending.ledger_id != ledger_id || pending.state->done()) continue;
    // Before the deadline it ended because all is returned: the last slabs are on their way.
    if (Clock::now() >= pending.state->deadline()) end_partially(pending);
  }
}

bool Reclaims::any_unanswered() const {
  return std::ranges::any_of(pending_, [](const Pending& pending) {
    return pending.question && pending.ledger_id == 0 && !pending.state->done();
  });
}

Clock::time_point Reclaims::step(Clock::time_point now) {
  auto next = now + std::chrono::hours(1);
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    Pending& pending = pending_[i];
    if (pending.state->done()) continue;
    const bool may_ask = now >= pending.not_before;
    const bool connected = is_connected();
    const bool followed = pending.ledger_id != 0 && connected;
    if (!followed && !pending.asking && may_ask) ask(i, connected);
    // The coordinator ends it at the deadline; if it does not, we do, a little later.
    const auto end = pending.state->deadline() + milliseconds(followed ? 200 : 0);
    if (now >= end && may_ask) end_partially(pending);
    next = std::min(next, std::max(end, now + kLookAgain));
    if (!followed) next = std::min(next, now + kLookAgain);
  }
  // One that ended without all of its bytes stays, to be credited with those that come late.
  std::erase_if(pending_,
                [](const Pending& pending) { return pending.state->missing_bytes() == 0; });
  return next;
}

bool Reclaims::is_connected() const {
  return services_.coordinator != nullptr && services_.coordinator->connected();
}

void Reclaims::ask(std::size_t position, bool connected) {
  Pending& pending = pending_[position];
  if (!connected) {
    limit_to_lent(position);
    return take_free_slabs();
  }
  pending.asking = true;
  if (!pending.question) {
    const auto left =
        std::chrono::duration_cast<milliseconds>(pending.state->deadline() - Clock::now());
    pending.question = {.bytes = pending.state->missing_bytes(),
                        .within = std::max(left, milliseconds(1))};
  }
  services_.coordinator_calls.post([this, state = pending.state, question = *pending.question] {
    auto started = services_.coordinator->reclaim(question.bytes, question.within, question.key);
    services_.loop.post([this, state, started = std::move(started)] { on_asked(state, started); });
  });
}

void Reclaims::on_asked(const std::shared_ptr<ReclaimState>& state,
                        const Result<ledger::Ledger::ReclaimStart>& started) {
  for (Pending& pending : pending_) {
    if (pending.state != state) continue;
    pending.asking = false;
    pending.not_before = Clock::now() + kAskAgain;
    if (!started.ok()) continue;
    pending.not_before = {};
    pending.ledger_id = started->reclaim.id;
    // What an earlier reclaim wants already is credited to that one.
    if (!pending.again) {
      state->limit_wanted(state->progress().bytes_returned + started->reclaim.bytes_wanted);
    }
  }
  if (!started.ok()) {
    if (started.error().code != Code::unavailable) {
      services_.log(LogLevel::error, concat("reclaim: ", started.error().message));
      state->finish({});
    }
    return;
  }
  std::vector<std::uint32_t> withdrawn;
  for (const ledger::SlabId& slab : started->withdrawn) withdrawn.push_back(slab.index);
  lent_.take_back(withdrawn);
}

// Does without a coordinator what on_asked() does with one: no byte is wanted by two reclaims.
void Reclaims::limit_to_lent(std::size_t position) {
  Pending& pending = pending_[position];
  if (std::exchange(pending.limited, true)) return;
  std::size_t left = lent_.bytes();
  for (std::size_t i = 0; i < position; ++i) {
    if (!pending_[i].state->done()) left -= std::min(left, pending_[i].state->missing_bytes());
  }
  pending.state->limit_wanted(pending.state->progress().bytes_returned + left);
}

// Takes back what nobody holds, without asking a coordinator. That is safe: a secret that was shown
// to somebody meanwhile no longer opens anything.
void Reclaims::take_free_slabs() {
  std::size_t missing = 0;
  for (const Pending& pending : pending_) missing += pending.state->missing_bytes();
  std::vector<std::uint32_t> free;
  for (const lending::SlabStatus& slab : lent_.exporter().status()) {
    if (missing == 0) break;
    if (slab.custody != lending::Custody::free) continue;
    free.push_back(slab.index);
    missing -= std::min(missing, slab.bytes);
  }
  lent_.take_back(free);
}

void Reclaims::credit(std::size_t bytes, Clock::time_point at) {
  for (const bool ended : {false, true}) {
    for (Pending& pending : pending_) {
      if (pending.state->done() != ended || pending.state->missing_bytes() == 0) continue;
      return pending.state->credit(bytes, at);
    }
  }
}

// Ends a reclaim whose deadline has passed, and says who holds what is missing, where somebody can
// tell it.
void Reclaims::end_partially(Pending& pending) {
  const bool in_vain = pending.ending && Clock::now() >= pending.state->deadline() + kReturnGrace;
  if (in_vain || !is_followed(pending)) return pending.state->finish({});
  if (pending.ending) return;
  pending.ending = true;
  services_.coordinator_calls.post([this, state = pending.state, id = pending.ledger_id] {
    auto holders = ask_for_holders(id);
    services_.loop.post([this, state, holders = std::move(holders)] {
      for (Pending& ended : pending_) {
        if (ended.state != state) continue;
        ended.ending = false;
        ended.not_before = Clock::now() + kAskAgain;
      }
      // Nobody holds anything: the last slabs are being scrubbed or reported.
      const bool soon =
          holders && holders->empty() && Clock::now() < state->deadline() + kReturnGrace;
      if (!soon && !state->done()) state->finish(holders.value_or(std::vector<Holder>{}));
    });
  });
}

// On the coordinator_calls queue. Empty when nobody holds anything; nullopt when nobody answers.
std::optional<std::vector<Holder>> Reclaims::ask_for_holders(std::uint64_t ledger_id) {
  const auto reclaim = services_.coordinator->reclaim_status(ledger_id);
  if (!reclaim.ok()) return std::nullopt;
  const auto everything = services_.coordinator->state();
  if (!everything.ok()) return std::nullopt;
  std::vector<Holder> holders;
  for (const ledger::SlabId& wanted : reclaim->outstanding) {
    Holder holder{.slab = wanted.index};
    for (const ledger::Slab& slab : everything->slabs) {
      if (slab.id != wanted || !slab.holder) continue;
      holder.bytes = slab.bytes;
      for (const ledger::Client& client : everything->clients) {
        if (client.info.id != *slab.holder) continue;
        holder.name = client.info.name;
        holder.pid = client.info.pid;
      }
    }
    holders.push_back(holder);
  }
  return holders;
}

void Reclaims::close() {
  for (const Pending& pending : pending_) pending.state->close();
}

}  // namespace aqua::runtime
