// SPDX-License-Identifier: Apache-2.0
// What Processes does about those that have died, or are silent.
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <iterator>

#include "must.hpp"
#include "play/processes.hpp"
#include "serve/membership.hpp"

namespace aqua::pipeline {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

// Silence that the coordinator has told of counts only from when on it could tell of the end of it.
void Processes::look() {
  daemons_.look();
  const auto hears_since = daemons_.coordinator().hears_since();
  const GroupNews news = group_.heard();
  if (!times_.noticed) times_.noticed = group_.began_after(term_);
  if (options_.ttl_ms == 0) return;
  const auto now = Clock::now();
  for (const GroupPeer& peer : news.members) {
    if (!peer.silent) {
      silent_since_.erase(peer.name);
      continue;
    }
    const auto since = silent_since_.try_emplace(peer.name, now).first->second;
    const auto found = processes_.find(peer.name);
    if (found == processes_.end() || !hears_since) continue;
    if (now - std::max(since, *hears_since) < std::chrono::milliseconds(options_.ttl_ms)) continue;
    if (found->second.child.wait(example::kNow))
      continue;  // it has died, and the coordinator will hear of it
    found->second.child.signal(SIGKILL);
    silent_.insert(peer.name);
  }
}

bool Processes::was_killed(Process& process) const {
  const auto status = process.child.wait(example::kNow);
  if (!status) return false;
  // It reaches nobody, and may have ended by an error for that reason.
  if (is_cut_off(process)) return true;
  // By somebody; who ends by an error or a crash of its own is not replaced.
  if (!WIFSIGNALED(*status) || WTERMSIG(*status) != SIGKILL) example::throw_ended(process.child);
  return true;
}

bool Processes::broken() {
  look();
  bool over = group_.term() > term_;
  for (auto each = processes_.begin(); each != processes_.end();) {
    if (!was_killed(each->second)) {
      ++each;
    } else if (std::ranges::find(seats_, each->first) != seats_.end()) {
      over = true;
      lost_a_rank();
      ++each;  // next_term() takes what it has said
    } else {
      each = bury(each);
    }
  }
  // next_term() and connect() see to it otherwise.
  if (!over && connected_ == seats_) keep_a_standby();
  return over;
}

void Processes::lost_a_rank() {
  if (!times_.died) times_.died = Clock::now();
}

void Processes::loses_host(unsigned host) {
  const auto is_there = [&](const std::string& member) {
    const auto found = processes_.find(member);
    return found != processes_.end() && found->second.host == host;
  };
  if (std::ranges::any_of(seats_, is_there)) lost_a_rank();
}

std::map<std::string, Processes::Process>::iterator Processes::bury(
    std::map<std::string, Process>::iterator dead) {
  ++deaths_;
  asked_.erase(dead->first);
  return processes_.erase(dead);
}

void Processes::keep_a_standby() {
  if (options_.standby && at_hand() == seats_.size()) start({});
}

bool Processes::is_cut_off(const Process& process) const {
  return daemons_.hosts() != nullptr && daemons_.hosts()->is_lost(process.host);
}

std::size_t Processes::at_hand() const {
  const auto is_of_use = [this](const auto& each) { return !is_cut_off(each.second); };
  return static_cast<std::size_t>(std::ranges::count_if(processes_, is_of_use));
}

void Processes::bury_and_replace(const GroupNews& news, std::vector<Sampled>& said) {
  for (auto each = processes_.begin(); each != processes_.end();) {
    if (!was_killed(each->second)) {
      ++each;
      continue;
    }
    if (std::ranges::find(seats_, each->first) != seats_.end()) lost_a_rank();
    if (!seats_.empty() && each->first == seats_[last()])
      std::ranges::move(take(), std::back_inserter(said));
    each = bury(each);
  }
  if (news.term > 0 && news.state != GroupState::forming) {
    while (at_hand() < shape_.processes()) start({});
    return;
  }
  // While a group forms nobody who stands by gets a rank. The rank of one that has died is taken
  // until the group has heard of that, which is news for the next call.
  for (unsigned i = 0; i < shape_.processes(); ++i) {
    const Place place{name_, shape_, i / shape_.ranks, i % shape_.ranks};
    const GroupRank rank = rank_of(name_, place.stage, place.rank);
    const bool asked = std::ranges::any_of(asked_, [&](const auto& each) {
      return each.second.stage == place.stage && each.second.rank == place.rank;
    });
    const bool taken = std::ranges::find(news.members, std::optional(rank), &GroupPeer::rank) !=
                       news.members.end();
    if (!asked && !taken) start(place);
  }
}

}  // namespace aqua::pipeline
