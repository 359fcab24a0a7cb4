// SPDX-License-Identifier: Apache-2.0
// A second record of parcels, as plain as it can be: a list, searched anew at each question.
// ParcelBook is compared with it, step by step.
//
// Threads: one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "parcel/parcel_book.hpp"

namespace aqua {

class NaiveParcels {
 public:
  using Said = std::optional<Code>;  // nothing: ok
  struct Row {
    std::uint64_t number = 0;
    ParcelBook::Record record{};
  };

  Said join(std::uint64_t m, const std::string& role,
            const std::optional<ParcelBook::Courier>& courier = {}) {
    if (members_.contains(m)) return Code::already_exists;
    members_[m] = {role, {}, false, courier};
    return {};
  }
  Said admit(std::uint64_t m, const std::string& from, std::uint32_t room) {
    if (!there(m)) return Code::not_found;
    members_[m].room[from] += room;
    match();
    return {};
  }
  Said begin(std::uint64_t m, const std::string& role, const ParcelHead& head, bool reserved,
             std::uint64_t since = 0);
  Said close(std::uint64_t m, std::uint64_t number, std::uint32_t tokens) {
    Row* const row = mine(m, number);
    if (row == nullptr) return Code::not_found;
    if (row->record.state != ParcelState::open) return Code::failed_precondition;
    row->record.state = ParcelState::closed;
    row->record.tokens = tokens;
    std::uint64_t& closed = closed_[row->record.id];
    closed = std::max(closed, row->record.given_turn);
    const std::string id = row->record.id;
    const std::uint64_t continues = row->record.continues;
    for (Row& other : rows_) {
      if (other.record.id != id || other.number == number) continue;
      const bool handed_on = other.number == continues;
      tell(std::exchange(other.record.giver, 0), other.number,
           handed_on ? ParcelEvent::confirmed : ParcelEvent::superseded);
      if (handed_on) {
        pay(other);
        continue;
      }
      other.record.replaced = true;
    }
    remove_if([&](const Row& other) {
      return other.number == continues ||
             (other.record.id == id && other.record.replaced && other.record.taker == 0);
    });
    match();
    return {};
  }
  // Nothing: as 0 of ParcelBook's, too.
  Said resume(std::uint64_t m, const std::string& id, std::uint64_t since);
  Said renew(std::uint64_t m, std::uint64_t number, std::uint64_t above) {
    Row* const row = its(m, number);
    if (row == nullptr) return Code::not_found;
    if (row->record.superseded) return Code::aborted;
    row->record.turn = highest_[row->record.id] = std::max(highest_[row->record.id], above) + 1;
    return {};
  }
  Said recall(std::uint64_t m, std::uint64_t number) {
    const Row* const row = mine(m, number);
    if (row == nullptr) return Code::not_found;
    if (row->record.was_taken) return Code::failed_precondition;
    if (!row->record.carried) cut_off(*row);
    remove_if([&](const Row& other) { return other.number == number; });
    match();
    return {};
  }
  [[nodiscard]] std::uint64_t next_for(std::uint64_t m) const {
    for (const Row& row : rows_) {
      const ParcelBook::Record& r = row.record;
      if (!there(m) || r.state != ParcelState::closed || r.role != members_.at(m).role) continue;
      if ((r.receiver != 0 && r.receiver != m) || !may_take(m, r)) continue;
      const bool held = std::any_of(rows_.begin(), rows_.end(), [&](const Row& other) {
        return other.record.id == r.id && is_unfilled(other) && other.record.turn > r.turn;
      });
      if (!held) return row.number;
    }
    return 0;
  }
  Said accept(std::uint64_t m) {
    const std::uint64_t number = next_for(m);
    if (number == 0) return Code::not_found;
    ParcelBook::Record& record = find(number)->record;
    if (record.needs_room && record.receiver != m) record.lodges = true;
    record.state = ParcelState::taken;
    record.was_taken = true;
    record.taker = m;
    if (members_[m].courier) record.peer = members_[m].courier->peer;
    record.receiver = 0;
    record.turn = ++highest_[record.id];
    return {};
  }
  Said confirm(std::uint64_t m, std::uint64_t number) {
    Row* const row = its(m, number);
    if (row == nullptr) return Code::not_found;
    if (row->record.superseded) return Code::aborted;
    row->record.state = ParcelState::confirmed;
    tell(std::exchange(row->record.giver, 0), number, ParcelEvent::confirmed);
    return {};
  }
  Said finish(std::uint64_t m, std::uint64_t number, ParcelEvent what = ParcelEvent::confirmed) {
    Row* const row = its(m, number);
    if (row == nullptr) return Code::not_found;
    pay(*row);
    if (row->record.superseded && !row->record.replaced) {
      wait_again(*row);
      return {};
    }
    if (!row->record.superseded) tell(row->record.giver, number, what);
    remove_if([&](const Row& other) { return other.number == number; });
    return {};
  }
  Said cancel(const std::string& id) {
    const std::size_t before = rows_.size();
    const bool is_with_a_taker = std::ranges::any_of(rows_, [&](const Row& row) {
      return row.record.id == id && row.record.taker != 0 &&
             (!row.record.replaced || members_[row.record.taker].courier);
    });
    remove_if([&](const Row& row) {
      if (row.record.id != id || row.record.taker != 0) return false;
      tell(row.record.giver, row.number, ParcelEvent::cancelled);
      cut_off(row);
      return true;
    });
    match();
    if (rows_.size() != before) return {};
    return is_with_a_taker ? Code::failed_precondition : Code::not_found;
  }
  Said tell_cut_off(std::uint64_t m, const std::string& role, const ParcelHead& head);
  void gone(std::uint64_t m) {
    if (!there(m)) return;
    members_[m].is_gone = true;
    news_.erase(m);
    for (Row& row : rows_) {
      if (row.record.receiver != m) continue;
      row.record.receiver = 0;
      row.record.lodges = false;
    }
    remove_if([&](const Row& row) {
      if (!is_unfilled(row) || row.record.giver != m) return false;
      if (!row.record.carried) cut_off(row);
      return true;
    });
    match();
  }
  void end(std::uint64_t m) {
    gone(m);
    if (members_.erase(m) == 0) return;
    remove_if([&](const Row& row) { return row.record.taker == m && row.record.replaced; });
    for (Row& row : rows_) {
      if (row.record.giver == m) row.record.giver = 0;
      if (row.record.taker == m) wait_again(row);
    }
  }
  std::vector<ParcelNews> take_news(std::uint64_t m) { return std::exchange(news_[m], {}); }

  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  [[nodiscard]] std::uint64_t highest(const std::string& id) const {
    return highest_.contains(id) ? highest_.at(id) : 0;
  }

 private:
  struct Member {
    std::string role{};
    std::map<std::string, std::int64_t> room{};
    bool is_gone = false;
    std::optional<ParcelBook::Courier> courier{};
  };
  // Couriers take what began here, of one role; what one had, one to the same peer alone.
  [[nodiscard]] bool may_take(std::uint64_t m, const ParcelBook::Record& record) const {
    const auto& courier = members_.at(m).courier;
    if (!courier) return record.peer.empty();
    if (courier->peer.empty() || record.carried || record.from != courier->takes_from) return false;
    return record.peer.empty() || record.peer == courier->peer;
  }

  [[nodiscard]] bool there(std::uint64_t m) const {
    return members_.contains(m) && !members_.at(m).is_gone;
  }
  static bool is_unfilled(const Row& row) {
    return row.record.state == ParcelState::reserved || row.record.state == ParcelState::open;
  }
  Row* find(std::uint64_t number) {
    const auto found = std::find_if(rows_.begin(), rows_.end(),
                                    [&](const Row& row) { return row.number == number; });
    return found == rows_.end() ? nullptr : &*found;
  }
  Row* mine(std::uint64_t m, std::uint64_t number) {
    Row* const row = find(number);
    return row != nullptr && there(m) && row->record.giver == m ? row : nullptr;
  }
  Row* its(std::uint64_t m, std::uint64_t number) {
    Row* const row = find(number);
    return row != nullptr && there(m) && row->record.taker == m ? row : nullptr;
  }
  static void wait_again(Row& row) {
    row.record.state = ParcelState::closed;
    row.record.taker = 0;
    row.record.superseded = false;
    row.record.lodges = false;
  }
  // A taker is done with it: of it and all that lodges, one has used up room by now.
  void pay(Row& done) {
    const std::uint64_t m = done.record.taker;
    Row* payer = done.record.lodges ? &done : nullptr;
    for (Row& row : rows_) {
      const bool here = row.record.receiver == m || row.record.taker == m;
      if (payer == nullptr && done.record.needs_room && row.record.lodges && here &&
          row.record.id == done.record.id) {
        payer = &row;
      }
    }
    if (payer == nullptr) return;
    payer->record.lodges = false;
    if (there(m)) --members_[m].room[payer->record.from];
  }
  void tell(std::uint64_t m, std::uint64_t number, ParcelEvent event) {
    if (there(m)) news_[m].push_back({number, event});
  }
  // Who was to get it.
  void cut_off(const Row& row) {
    for (const auto& [m, member] : members_) {
      const bool any = row.record.receiver == 0 && member.role == row.record.role;
      if (!there(m) || !(any ? may_take(m, row.record) : m == row.record.receiver)) continue;
      news_[m].push_back(
          {row.number, ParcelEvent::cut_off, {row.record.id, row.record.given_turn}});
    }
  }
  template <typename Which>
  void remove_if(const Which& which) {
    std::set<std::uint64_t> removed;
    std::vector<ParcelBook::Record> left;
    for (const Row& row : rows_) {
      if (!which(row)) continue;
      removed.insert(row.number);
      if (there(row.record.receiver) && !row.record.lodges) left.push_back(row.record);
    }
    std::erase_if(rows_, [&](const Row& row) { return removed.contains(row.number); });
    for (const ParcelBook::Record& record : left) {
      const auto lodger = std::find_if(rows_.begin(), rows_.end(), [&](const Row& row) {
        return row.record.id == record.id && row.record.lodges &&
               row.record.receiver == record.receiver;
      });
      if (lodger == rows_.end()) {
        ++members_[record.receiver].room[record.from];
      } else {
        lodger->record.lodges = false;
      }
    }
    for (Row& row : rows_) {
      if (removed.contains(row.record.continues)) row.record.continues = 0;
    }
  }
  // What is reserved, the oldest first, goes to who has most room.
  void match() {
    for (Row& row : rows_) {
      if (row.record.state != ParcelState::reserved) continue;
      std::uint64_t best = 0;
      const std::string& from = row.record.from;
      for (auto& [m, member] : members_) {
        if (!may_take(m, row.record)) continue;
        if (member.is_gone || member.role != row.record.role || member.room[from] <= 0) continue;
        if (best == 0 || member.room[from] > members_[best].room[from]) best = m;
      }
      if (best == 0) continue;
      --members_[best].room[from];
      row.record.receiver = best;
      row.record.state = ParcelState::open;
      if (row.number != quiet_) tell(row.record.giver, row.number, ParcelEvent::opened);
    }
  }

  std::map<std::uint64_t, Member> members_;
  std::vector<Row> rows_;
  std::map<std::string, std::uint64_t> highest_;
  std::map<std::string, std::uint64_t> closed_;
  std::map<std::uint64_t, std::vector<ParcelNews>> news_;
  std::uint64_t last_ = 0, quiet_ = 0;
};

}  // namespace aqua
