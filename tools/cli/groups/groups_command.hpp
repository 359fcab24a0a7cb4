// SPDX-License-Identifier: Apache-2.0
// aqua groups: who serves as which rank of which pipeline, as the coordinator knows it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "groups/types.hpp"
#include "tools/options/command_line.hpp"

namespace aqua::tool {

enum class GroupsAction : std::uint8_t { list, show, end };

struct GroupsCommand {
  GroupsAction action = GroupsAction::list;
  std::string group{};  // its name, id, or the beginning of that
  std::string coordinator{};
  bool json = false;
};

[[nodiscard]] CommandLine groups_line(GroupsCommand& command);
// invalid_argument names the argument.
[[nodiscard]] Result<GroupsCommand> parse_groups(std::span<const std::string_view> arguments);
// The text to print.
[[nodiscard]] Result<std::string> run_groups(const GroupsCommand& command);

// The parts of it that ask nobody.
[[nodiscard]] std::string groups_table(const std::vector<groups::Group>& all);
[[nodiscard]] std::string group_page(const groups::Group& group);
// not_found, or invalid_argument where several begin so.
[[nodiscard]] Result<groups::GroupId> find_group(const std::vector<groups::Group>& all,
                                                 std::string_view text);

}  // namespace aqua::tool
