// SPDX-License-Identifier: Apache-2.0
#include "coordinator/store/sqlite_group_rows.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "coordinator/store/sqlite_rows.hpp"

namespace aqua::coordinator::rows {

using groups::GroupId;
using groups::GroupRow;
using groups::MemberRow;
using groups::Rank;

namespace {

// A name that nobody knows reads as closed, of which there is no row: Book::restore() refuses it.
groups::State state_of(const std::string& name) {
  const auto known = std::ranges::find(groups::kStates, name,
                                       [](groups::State state) { return to_string(state); });
  return known == groups::kStates.end() ? groups::State::closed : *known;
}

std::uint32_t small(const SqliteStatement& row, int column) {
  return static_cast<std::uint32_t>(row.number(column));
}

GroupRow group_of(const SqliteStatement& row) {
  return {.id = row.id<GroupId>(0),
          .name = row.text(1),
          .creator = row.id<ClientId>(2),
          .creator_gone = row.number(3) != 0,
          .user = small(row, 4),
          .topology = {.prefill = {small(row, 8), small(row, 9)},
                       .decode = {small(row, 10), small(row, 11)}},
          .shape = {.model = row.text(5), .dtype = row.text(6), .layout = row.text(7)},
          .state = state_of(row.text(12)),
          .term = row.count(13),
          .joins = row.count(14),
          .members = {}};
}

struct StoredMember {
  GroupId group;
  MemberRow row;
  std::string role;  // "": a standby
};

StoredMember member_of(const SqliteStatement& row) {
  StoredMember member{row.id<GroupId>(0),
                      {row.id<ClientId>(1), row.text(2), std::nullopt, row.count(6)},
                      row.null(3) ? std::string() : row.text(3)};
  if (!row.null(3)) {
    const auto role = member.role == to_string(groups::Role::prefill) ? groups::Role::prefill
                                                                      : groups::Role::decode;
    member.row.rank = Rank{role, small(row, 4), small(row, 5)};
  }
  return member;
}

}  // namespace

Result<GroupStatements> GroupStatements::prepare(const SqliteConnection& connection) {
  GroupStatements made;
  AQUA_ASSIGN(
      made.put_group,
      connection.prepare(
          "INSERT OR REPLACE INTO pipeline_group(id, boot, name, creator, creator_gone, uid,"
          " model, dtype, layout, prefill_stages, prefill_tensor, decode_stages,"
          " decode_tensor, state, term, joins)"
          " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  AQUA_ASSIGN(
      made.put_member,
      connection.prepare(
          "INSERT INTO group_member(pipeline_group, client, boot, name, role, stage, tensor,"
          " joined) VALUES(?, ?, ?, ?, ?, ?, ?, ?)"));
  AQUA_ASSIGN(made.drop_group, connection.prepare("DELETE FROM pipeline_group WHERE id = ?"));
  AQUA_ASSIGN(made.drop_members,
              connection.prepare("DELETE FROM group_member WHERE pipeline_group = ?"));
  return made;
}

Result<void> GroupStatements::write(const WriteSet& rows, const std::string& boot) {
  for (const GroupId& id : rows.groups_gone) {
    AQUA_TRY(drop_members.bind(id).run());
    AQUA_TRY(drop_group.bind(id).run());
  }
  for (const GroupRow& row : rows.groups) {
    const std::string_view state = to_string(row.state);  // a literal
    const groups::Topology& topology = row.topology;
    AQUA_TRY(put_group
                 .bind(row.id, boot, row.name, row.creator, row.creator_gone, row.user,
                       row.shape.model, row.shape.dtype, row.shape.layout, topology.prefill.stages,
                       topology.prefill.tensor, topology.decode.stages, topology.decode.tensor,
                       state, row.term, row.joins)
                 .run());
    AQUA_TRY(drop_members.bind(row.id).run());
    for (const MemberRow& member : row.members) {
      const Rank rank = member.rank.value_or(Rank{});
      SqliteStatement& put = put_member;
      if (member.rank) {
        const std::string_view role = to_string(rank.role);
        AQUA_TRY(put.bind(row.id, member.client, boot, member.name, role, rank.stage, rank.tensor,
                          member.order)
                     .run());
      } else {
        AQUA_TRY(put.bind(row.id, member.client, boot, member.name, nullptr, rank.stage,
                          rank.tensor, member.order)
                     .run());
      }
    }
  }
  return {};
}

Result<std::vector<GroupRow>> read_groups(const SqliteConnection& connection) {
  AQUA_ASSIGN(auto all, read_rows<GroupRow>(
                            connection,
                            "SELECT id, name, creator, creator_gone, uid, model, dtype, layout,"
                            " prefill_stages, prefill_tensor, decode_stages, decode_tensor, state,"
                            " term, joins FROM pipeline_group ORDER BY id",
                            group_of));
  AQUA_ASSIGN(const auto members,
              read_rows<StoredMember>(connection,
                                      "SELECT pipeline_group, client, name, role, stage, tensor,"
                                      " joined FROM group_member ORDER BY pipeline_group, client",
                                      member_of));
  std::map<GroupId, GroupRow*> by_id;
  for (GroupRow& row : all) by_id[row.id] = &row;
  for (const StoredMember& member : members) {
    const auto group = by_id.find(member.group);
    const bool known_role = member.role.empty() ||
                            member.role == to_string(groups::Role::prefill) ||
                            member.role == to_string(groups::Role::decode);
    if (group == by_id.end() || !known_role) {
      return Error{Code::data_loss,
                   concat("store: a member of group ", to_string(member.group),
                          known_role ? ", which is not there" : " in a role that nobody knows")};
    }
    group->second->members.push_back(member.row);
  }
  return all;
}

}  // namespace aqua::coordinator::rows
