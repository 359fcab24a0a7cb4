// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/groups/groups_command.hpp"

#include <algorithm>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/admin/operator.hpp"
#include "tools/cli/action.hpp"
#include "tools/cli/coordinator_option.hpp"

namespace aqua::tool {
namespace {

using groups::Group;
using groups::Member;
using Json = nlohmann::ordered_json;

constexpr const char* kAbout = R"(Usage: aqua groups [list] [options]
       aqua groups show --group GROUP [options]
       aqua groups end --group GROUP [options]

The groups of processes that serve a model as pipelines: their ranks, standbys and terms, and how
far a recovery is. A group that waits lacks a standby; one that seals waits for the members that
have not acknowledged. (docs/internals/groups.md))";

Error bad(const std::string& what) {
  return Error{Code::invalid_argument, concat("groups: ", what)};
}

std::string shape_of(const groups::Pipeline& pipeline) {
  return pipeline.stages == 0 ? "-" : concat(pipeline.stages, "x", pipeline.tensor);
}

std::size_t standbys_of(const Group& group) {
  return static_cast<std::size_t>(
      std::ranges::count_if(group.members, [](const auto& entry) { return !entry.second.rank; }));
}

// With its server, where there are several.
std::string name_of(const Member& member) {
  return member.server.empty() ? member.name : concat(member.name, " on ", member.server);
}

// What the group waits for of this member.
std::string_view progress_of(const Group& group, const Member& member) {
  if (member.silent) return "silent";
  if (!member.rank) return "stands by";
  if (group.state == groups::State::running || group.state == groups::State::forming) return "";
  if (!member.acknowledged) return "to acknowledge";
  if (group.state != groups::State::resuming) return "acknowledged";
  return member.resumed ? "resumed" : "to resume";
}

Json to_json(const Member& member) {
  Json row{{"client", to_string(member.client)}, {"name", member.name}};
  if (!member.server.empty()) row["server"] = member.server;
  if (member.rank) {
    row["rank"] = {{"role", to_string(member.rank->role)},
                   {"stage", member.rank->stage},
                   {"tensor", member.rank->tensor}};
  }
  row["silent"] = member.silent;
  row["acknowledged"] = member.acknowledged;
  row["resumed"] = member.resumed;
  return row;
}

Json to_json(const Group& group) {
  Json members = Json::array();
  for (const auto& [client, member] : group.members) members.push_back(to_json(member));
  Json row{{"id", to_string(group.id)},
           {"name", group.name},
           {"state", to_string(group.state)},
           {"term", group.term},
           {"prefill", shape_of(group.topology.prefill)},
           {"decode", shape_of(group.topology.decode)},
           {"model", group.shape.model},
           {"dtype", group.shape.dtype},
           {"layout", group.shape.layout},
           {"members", std::move(members)}};
  if (group.plan) {
    row["plan"] = {{"resume", group.plan->resume.size()}, {"restore", group.plan->restore.size()}};
  }
  return row;
}

}  // namespace

std::string groups_table(const std::vector<Group>& all) {
  if (all.empty()) return "the coordinator has no groups\n";
  std::ostringstream out;
  const auto row = [&](const auto& name, const auto&... cells) {
    out << std::left << std::setw(24) << name << std::right;
    ((out << ' ' << std::setw(9) << cells), ...);
    out << '\n';
  };
  row("group", "state", "term", "prefill", "decode", "members", "standbys");
  for (const Group& group : all) {
    const std::size_t standbys = standbys_of(group);
    row(group.name, to_string(group.state), group.term, shape_of(group.topology.prefill),
        shape_of(group.topology.decode), group.members.size() - standbys, standbys);
  }
  return out.str();
}

std::string group_page(const Group& group) {
  std::ostringstream out;
  out << group.name << " (" << to_string(group.id) << ") is " << to_string(group.state)
      << " in term " << group.term << '\n'
      << group.shape.model << ", " << group.shape.dtype << ", " << group.shape.layout << "\n\n";
  const auto row = [&](std::string_view rank, std::string_view name, std::string_view client,
                       std::string_view progress) {
    out << std::left << std::setw(14) << rank << ' ' << std::setw(24) << name << ' '
        << std::setw(32) << client;
    if (!progress.empty()) out << ' ' << progress;
    out << '\n';
  };
  for (const groups::Rank& rank : group.topology.ranks()) {
    const Member* member = group.holder(rank);
    if (member == nullptr) {
      row(to_string(rank), "-", "-", "nobody");
    } else {
      row(to_string(rank), name_of(*member), to_string(member->client),
          progress_of(group, *member));
    }
  }
  for (const auto& [client, member] : group.members) {
    if (!member.rank) row("-", name_of(member), to_string(client), progress_of(group, member));
  }
  if (group.plan) {
    out << "\nthe plan: " << group.plan->resume.size() << " sequences go on, "
        << group.plan->restore.size() << " are restored from others\n";
  }
  return out.str();
}

Result<groups::GroupId> find_group(const std::vector<Group>& all, std::string_view text) {
  std::optional<groups::GroupId> found;
  for (const Group& group : all) {
    if (group.name == text) return group.id;
    if (!to_string(group.id).starts_with(text)) continue;
    if (found) return bad(concat("several groups begin with ", text));
    found = group.id;
  }
  if (found) return *found;
  return Error{Code::not_found, concat("groups: there is no group ", text)};
}

CommandLine groups_line(GroupsCommand& command) {
  CommandLine line("groups", kAbout);
  line.text("--group", command.group, "GROUP", "its name, its id, or the beginning of that");
  add_coordinator(line, command.coordinator);
  line.flag("--json", command.json, "for scripts");
  return line;
}

Result<GroupsCommand> parse_groups(std::span<const std::string_view> arguments) {
  GroupsCommand command;
  auto action = take_action<GroupsAction>(
      arguments,
      {{"list", GroupsAction::list}, {"show", GroupsAction::show}, {"end", GroupsAction::end}});
  if (!action.ok()) return bad(action.error().message);
  command.action = *action;
  AQUA_TRY(groups_line(command).parse(arguments));
  if (command.action != GroupsAction::list && command.group.empty())
    return bad("this needs --group");
  AQUA_TRY(resolve_coordinator(command.coordinator, "groups"));
  return command;
}

Result<std::string> run_groups(const GroupsCommand& command) {
  AQUA_ASSIGN(const wire::Groups all, admin::fetch_groups(command.coordinator));
  if (command.action == GroupsAction::list) {
    if (!command.json) return groups_table(all.groups);
    Json rows = Json::array();
    for (const Group& group : all.groups) rows.push_back(to_json(group));
    return Json{{"groups", std::move(rows)}}.dump(2) + "\n";
  }
  AQUA_ASSIGN(const groups::GroupId id, find_group(all.groups, command.group));
  if (command.action == GroupsAction::show) {
    AQUA_ASSIGN(const Group group, admin::fetch_group(command.coordinator, id));
    return command.json ? to_json(group).dump(2) + "\n" : group_page(group);
  }
  AQUA_TRY(admin::end_group(command.coordinator, id));
  if (command.json) return Json{{"ended", to_string(id)}}.dump(2) + "\n";
  return concat(command.group, " is ended\n");
}

}  // namespace aqua::tool
