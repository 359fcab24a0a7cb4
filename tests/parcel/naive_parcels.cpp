// SPDX-License-Identifier: Apache-2.0
#include "tests/parcel/naive_parcels.hpp"

namespace aqua {

NaiveParcels::Said NaiveParcels::begin(std::uint64_t m, const std::string& role,
                                       const ParcelHead& head, bool reserved, std::uint64_t since) {
  if (!there(m)) return Code::not_found;
  if (highest_.contains(head.id) && head.turn <= highest_[head.id]) return Code::aborted;
  std::uint64_t continues = 0;
  for (const Row& row : rows_) {
    if (row.record.id != head.id || row.record.taker != m) continue;
    if (row.record.superseded) return Code::aborted;
    continues = row.number;
  }
  highest_[head.id] = head.turn;
  rows_.push_back({++last_,
                   {.id = head.id,
                    .turn = head.turn,
                    .given_turn = since != 0 ? since : head.turn,
                    .role = role,
                    .state = reserved ? ParcelState::reserved : ParcelState::open,
                    .giver = m,
                    .from = members_[m].role,
                    .needs_room = reserved,
                    .carried = members_[m].courier.has_value(),
                    .continues = continues}});
  const std::uint64_t newest = last_;
  for (const Row& row : rows_) {
    ParcelBook::Record& record = rows_.back().record;
    if (record.state != ParcelState::reserved || row.number == newest) continue;
    if (row.record.id != head.id || row.record.role != role) continue;
    if (!row.record.needs_room) continue;
    if (row.record.from != record.from) continue;
    const std::uint64_t host = row.record.receiver + row.record.taker;  // one of them is 0
    if (!there(host) || host == m || !may_take(host, record)) continue;
    record.state = ParcelState::open;
    record.receiver = host;
    record.lodges = true;
  }
  remove_if([&](const Row& row) {
    if (row.number == newest || row.record.id != head.id || !is_unfilled(row)) return false;
    tell(row.record.giver, row.number, ParcelEvent::superseded);
    return true;
  });
  for (Row& row : rows_) {
    if (row.record.id != head.id || row.record.taker == 0 || row.number == continues) continue;
    if (row.record.superseded) continue;
    row.record.superseded = true;
    tell(row.record.taker, row.number, ParcelEvent::taken_superseded);
  }
  quiet_ = newest;  // a reservation that is met at once is no news
  match();
  quiet_ = 0;
  return {};
}

NaiveParcels::Said NaiveParcels::resume(std::uint64_t m, const std::string& id,
                                        std::uint64_t since) {
  if (!there(m)) return Code::not_found;
  if (closed_[id] == 0 || closed_[id] < since) return {};
  for (Row& row : rows_) {
    ParcelBook::Record& record = row.record;
    if (record.id != id || record.given_turn != since || is_unfilled(row)) continue;
    if (record.state == ParcelState::confirmed || record.replaced) continue;
    if (record.superseded) return Code::aborted;
    if (there(record.giver) && record.giver != m) return Code::failed_precondition;
    record.giver = m;
    return {};
  }
  return closed_[id] > since ? Code::cancelled : Code::already_exists;
}

NaiveParcels::Said NaiveParcels::tell_cut_off(std::uint64_t m, const std::string& role,
                                              const ParcelHead& head) {
  if (!there(m)) return Code::not_found;
  if (!members_[m].courier) return Code::failed_precondition;
  bool has_come = closed_[head.id] >= head.turn;
  for (const Row& row : rows_) {
    has_come |= row.record.id == head.id && row.record.given_turn >= head.turn;
  }
  for (const auto& [each, member] : members_) {
    if (has_come || !there(each) || member.role != role || member.courier) continue;
    news_[each].push_back({0, ParcelEvent::cut_off, head});
  }
  return {};
}

}  // namespace aqua
