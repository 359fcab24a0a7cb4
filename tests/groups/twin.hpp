// SPDX-License-Identifier: Apache-2.0
// Twin is a second implementation of one group's rules, written the plain way: it keeps what has
// happened and derives state and plan from that whenever it is asked.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "groups/book.hpp"

namespace aqua::groups::test {

class Twin {
 public:
  struct Who {
    ClientId client;
    std::optional<Rank> rank;
    bool silent = false;
  };
  Twin(Topology topology, Limits limits) : ranks_(topology.ranks()), limits_(limits) {}

  // Each says whether it is accepted.
  bool join(const ClientId& client, std::optional<Rank> rank) {
    for (const Who& who : members_) {
      if (who.client == client) return !rank || rank == who.rank;
    }
    if (rank && taken(*rank)) return false;
    if (!rank && standbys() >= limits_.max_standbys) return false;
    members_.push_back({client, rank, false});
    seat();
    return true;
  }
  bool gone(const ClientId& client) {
    const auto who = std::ranges::find(members_, client, &Who::client);
    if (who == members_.end()) return false;
    const bool had_rank = who->rank.has_value();
    members_.erase(who);
    if (had_rank) {
      ++term_;
      acknowledged_.clear();
      resumed_.clear();
    }
    seat();
    return true;
  }
  void silent(const ClientId& client, bool is_silent) {
    for (Who& who : members_) {
      if (who.client == client) who.silent = is_silent;
    }
    seat();
  }
  bool acknowledge(const ClientId& client, Term term, const std::vector<Watermark>& marks) {
    if (!ranked(client) || term != term_ || state() == State::forming) return false;
    if (state() != State::running) acknowledged_.try_emplace(client, marks);
    return true;
  }
  bool resumed(const ClientId& client, Term term) {
    if (!ranked(client) || term != term_) return false;
    if (state() == State::running) return true;
    if (state() != State::resuming) return false;
    resumed_.insert(client);
    if (std::ranges::all_of(holders(), [&](const ClientId& c) { return resumed_.contains(c); }))
      ran_in_ = term_;
    return true;
  }

  [[nodiscard]] State state() const {
    if (!was_whole_) return State::forming;
    if (holders().size() < ranks_.size()) return State::waiting;
    if (ran_in_ == term_) return State::running;
    return std::ranges::all_of(holders(),
                               [&](const ClientId& c) { return acknowledged_.contains(c); })
               ? State::resuming
               : State::sealing;
  }
  [[nodiscard]] Term term() const { return term_; }
  [[nodiscard]] const std::vector<Who>& members() const { return members_; }
  [[nodiscard]] bool has_acknowledged(const ClientId& client) const {
    return state() != State::running && acknowledged_.contains(client);
  }

  // The highest point that every rank of the pipeline can have of it, tried one by one.
  [[nodiscard]] std::optional<Plan> plan() const {
    if (state() != State::resuming) return std::nullopt;
    std::set<std::pair<Role, std::uint64_t>> sequences;
    for (const auto& [client, marks] : acknowledged_)
      for (const Watermark& mark : marks) sequences.insert({mark.of.role, mark.sequence});
    Plan plan;
    for (const auto& [role, sequence] : sequences) {
      std::uint64_t point = 0;
      for (const auto& [client, marks] : acknowledged_)
        for (const Watermark& mark : marks)
          if (mark.mark > point && reachable(role, sequence, mark.mark)) point = mark.mark;
      plan.resume.push_back({role, sequence, point});
    }
    for (const Rank& rank : ranks_) {
      for (const Resume& resume : plan.resume) {
        if (resume.role != rank.role || own(rank, resume.sequence) >= resume.mark) continue;
        plan.restore.push_back(best(rank, resume.sequence));
      }
    }
    return plan;
  }

 private:
  [[nodiscard]] bool taken(const Rank& rank) const {
    return std::ranges::find(members_, std::optional(rank), &Who::rank) != members_.end();
  }
  [[nodiscard]] bool ranked(const ClientId& client) const {
    const auto all = holders();
    return std::ranges::find(all, client) != all.end();
  }
  [[nodiscard]] std::vector<ClientId> holders() const {
    std::vector<ClientId> all;
    for (const Who& who : members_)
      if (who.rank) all.push_back(who.client);
    return all;
  }
  [[nodiscard]] std::size_t standbys() const { return members_.size() - holders().size(); }
  void seat() {
    if (was_whole_) {
      for (const Rank& rank : ranks_) {
        if (taken(rank)) continue;
        for (Who& who : members_) {  // in the order of their joining
          if (who.rank || who.silent) continue;
          who.rank = rank;
          break;
        }
      }
    } else if (holders().size() == ranks_.size()) {
      was_whole_ = true;
      ran_in_ = term_;
    }
  }
  [[nodiscard]] bool reachable(Role role, std::uint64_t sequence, std::uint64_t point) const {
    return std::ranges::all_of(ranks_, [&](const Rank& rank) {
      if (rank.role != role) return true;
      for (const auto& [client, marks] : acknowledged_)
        for (const Watermark& mark : marks)
          if (mark.of == rank && mark.sequence == sequence && mark.mark >= point) return true;
      return false;
    });
  }
  [[nodiscard]] std::uint64_t own(const Rank& rank, std::uint64_t sequence) const {
    for (const Who& who : members_) {
      if (who.rank != rank) continue;
      for (const Watermark& mark : acknowledged_.at(who.client))
        if (mark.of == rank && mark.sequence == sequence) return mark.mark;
    }
    return 0;
  }
  [[nodiscard]] Restore best(const Rank& rank, std::uint64_t sequence) const {
    Restore found{rank, sequence, {}, 0};
    for (const auto& [client, marks] : acknowledged_)
      for (const Watermark& mark : marks)
        if (mark.of == rank && mark.sequence == sequence && mark.mark > found.mark) {
          found.from = client;
          found.mark = mark.mark;
        }
    return found;
  }

  const std::vector<Rank> ranks_;
  const Limits limits_;
  std::vector<Who> members_;                                 // in the order of their joining
  std::map<ClientId, std::vector<Watermark>> acknowledged_;  // in this term
  std::set<ClientId> resumed_;
  Term term_ = 1;
  bool was_whole_ = false;
  Term ran_in_ = 0;
};

}  // namespace aqua::groups::test
