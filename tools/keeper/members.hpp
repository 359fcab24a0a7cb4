// SPDX-License-Identifier: Apache-2.0
// What is asked of members by their processes: each is a connection, several may be of one process,
// and has that as `process`.
//
// Threads: free functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "base/concat.hpp"

namespace aqua::keeper {

// resource_exhausted: there are `most` of them, or a quarter of that of this process. `called`:
// what the message calls them.
template <typename Member>
[[nodiscard]] Result<void> check_room(const std::map<std::uint64_t, Member>& members,
                                      std::size_t most, std::int64_t pid, std::string_view called) {
  const auto of_process = static_cast<std::size_t>(
      std::count_if(members.begin(), members.end(),
                    [&](const auto& member) { return member.second.process.pid() == pid; }));
  if (members.size() < most && of_process < most / 4) return {};
  return Error{Code::resource_exhausted,
               concat("keeper: ", members.size(), " members ", called, ", of at most ", most,
                      ", and ", of_process, " of process ", pid, ", of a quarter of that")};
}

template <typename Member>
[[nodiscard]] std::vector<int> pidfds_of(const std::map<std::uint64_t, Member>& members) {
  std::vector<int> fds;
  fds.reserve(members.size());
  for (const auto& [number, member] : members) fds.push_back(member.process.pidfd());
  return fds;
}

// Whose process this is.
template <typename Member>
[[nodiscard]] std::vector<std::uint64_t> members_with(
    const std::map<std::uint64_t, Member>& members, int pidfd) {
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, member] : members) {
    if (member.process.pidfd() == pidfd) numbers.push_back(number);
  }
  return numbers;
}

}  // namespace aqua::keeper
