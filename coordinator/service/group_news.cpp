// SPDX-License-Identifier: Apache-2.0
#include "coordinator/service/group_news.hpp"

#include <algorithm>
#include <cstddef>

#include "coordinator/service/group_store.hpp"

namespace aqua::coordinator {
namespace {

// In bytes, as it is written.
std::size_t size_about(const groups::Group& group) {
  std::size_t bytes = 2048;
  for (const auto& [client, member] : group.members) bytes += 512 + 48 * member.marks.size();
  return bytes;
}

}  // namespace

std::vector<GroupSeat> seats_of(const groups::Book& book) {
  std::vector<GroupSeat> seats;
  for (const auto& [id, group] : book.groups()) {
    for (const auto& [client, member] : group.members)
      seats.push_back({id, client, member.server, true, member.silent});
    if (!group.creator_gone && !group.members.contains(group.creator))
      seats.push_back({id, group.creator, group.server});
  }
  return seats;
}

std::vector<GroupNews> news_of(const std::vector<GroupSeat>& seats, const HeardOf& heard) {
  using What = GroupNews::What;
  std::vector<GroupNews> news;
  for (const GroupSeat& seat : seats) {
    const bool is_ours = seat.server == heard.server;
    const bool is_absent = heard.absent.contains(seat.server);
    const bool is_live = is_ours ? heard.live.contains(seat.client) : !is_absent;
    if (seat.is_member && (is_ours || is_absent) && is_live == seat.is_silent)
      news.push_back({seat.group, seat.client, is_live ? What::returned : What::fell_silent});
    if (is_absent || heard.gone.contains(seat.client))
      news.push_back({seat.group, seat.client, What::gone});
  }
  std::ranges::stable_sort(news, {}, &GroupNews::what);
  return news;
}

void tell_part(groups::Book& book, const std::vector<GroupNews>& news) {
  std::set<groups::GroupId> told;
  std::size_t bytes = 0;
  for (const GroupNews& each : news) {
    const auto group = book.groups().find(each.group);
    if (group == book.groups().end()) continue;  // it has just ended
    if (!told.contains(each.group)) {
      bytes += size_about(group->second);
      if (!told.empty() && (told.size() == kMostGroupsAtOnce || bytes > kMostBytesAtOnce)) return;
      told.insert(each.group);
    }
    if (each.what == GroupNews::What::gone) {
      book.gone(each.group, each.client);
    } else {
      book.silent(each.group, each.client, each.what == GroupNews::What::fell_silent);
    }
  }
}

}  // namespace aqua::coordinator
