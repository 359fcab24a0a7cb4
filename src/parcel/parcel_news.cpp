// SPDX-License-Identifier: Apache-2.0
// What members are told of parcels.
#include <algorithm>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "parcel/parcel_book.hpp"

namespace aqua {

void ParcelBook::tell(MemberNumber member, const ParcelNews& news) {
  if (!is_member(member)) return;
  if (news.event == ParcelEvent::cut_off) {
    std::size_t& cut_off = members_.at(member).cut_off;
    if (cut_off == kMostCutOff) return;
    ++cut_off;
  }
  news_[member].push_back(news);
}

// The last that its giver hears of it.
void ParcelBook::tell_giver(Record& record, std::uint64_t number, ParcelEvent event) {
  tell(std::exchange(record.giver, 0), {.number = number, .event = event});
}

void ParcelBook::tell_cut_off(std::uint64_t number) {
  const Record& record = parcels_.at(number);
  const ParcelNews news{number, ParcelEvent::cut_off, {record.id, record.given_turn}};
  for (const auto& [member, known] : members_) {
    const bool is_its = record.receiver != 0 ? member == record.receiver
                                             : known.role == record.role && may_take(known, record);
    if (is_its) tell(member, news);
  }
}

Result<void> ParcelBook::tell_cut_off(MemberNumber courier, const std::string& role,
                                      const ParcelHead& head) {
  AQUA_TRY(check_member("cut_off", courier));
  AQUA_TRY(check_role("cut_off", role));
  AQUA_TRY(check_id("cut_off", head.id));
  if (head.turn == 0 || head.turn > kMostTurn) {
    return Error{Code::invalid_argument,
                 concat("cut_off: ", head.id, ": turn ", head.turn, ", of 1 to ", kMostTurn)};
  }
  if (!members_.at(courier).courier) {
    return Error{Code::failed_precondition, "cut_off: the caller carries nothing"};
  }
  if (const auto known = turns_.find(head.id); known != turns_.end()) {
    const auto has_come = [&](std::uint64_t number) {
      return parcels_.at(number).given_turn >= head.turn;
    };
    if (known->second.closed >= head.turn || std::ranges::any_of(known->second.numbers, has_come))
      return {};
  }
  for (const auto& [member, known] : members_) {
    if (known.role == role && !known.courier) tell(member, {0, ParcelEvent::cut_off, head});
  }
  return {};
}

std::vector<ParcelNews> ParcelBook::take_news(MemberNumber member, const Fits& fits) {
  const auto found = news_.find(member);
  if (found == news_.end()) return {};
  std::vector<ParcelNews>& all = found->second;
  const auto end = fits ? std::ranges::find_if_not(all, fits) : all.end();
  std::vector<ParcelNews> told(all.begin(), end);
  members_.at(member).cut_off -=
      static_cast<std::size_t>(std::ranges::count(told, ParcelEvent::cut_off, &ParcelNews::event));
  all.erase(all.begin(), end);
  if (all.empty()) news_.erase(found);
  return told;
}

}  // namespace aqua
