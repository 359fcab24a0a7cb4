// SPDX-License-Identifier: Apache-2.0
// What has been heard of the clients in groups and is not written down yet, one client in one group
// at a time, so that no change of a book is larger than a store takes at once.
//
// Threads: plain functions. Pure.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "groups/book.hpp"

namespace aqua::coordinator {

// A client in a group, or the creator of one.
struct GroupSeat {
  groups::GroupId group;
  ClientId client;
  std::string server{};
  bool is_member = false;
  bool is_silent = false;
};
[[nodiscard]] std::vector<GroupSeat> seats_of(const groups::Book& book);

struct GroupNews {
  enum class What : std::uint8_t { fell_silent, returned, gone };
  groups::GroupId group;
  ClientId client;
  What what = What::gone;
};

struct HeardOf {
  std::string server{};            // whose clients are heard of
  std::set<ClientId> live{};       // of these
  std::set<ClientId> gone{};       // died, or left
  std::set<std::string> absent{};  // servers: all of their clients are gone
};
// In the order in which they are told: silences first, so that none of the silent is given a rank
// by another's return or death.
[[nodiscard]] std::vector<GroupNews> news_of(const std::vector<GroupSeat>& seats,
                                             const HeardOf& heard);
// Tells a book as many of them as are written at once, and one at least.
void tell_part(groups::Book& book, const std::vector<GroupNews>& news);

}  // namespace aqua::coordinator
