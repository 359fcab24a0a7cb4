// SPDX-License-Identifier: Apache-2.0
#include "wire/groups.hpp"

#include "wire/limits.hpp"
#include "wire/message.hpp"

namespace aqua::wire {
namespace {

using groups::Group;
using groups::Member;
using groups::Pipeline;
using groups::Plan;
using groups::Rank;
using groups::Restore;
using groups::Resume;
using groups::Role;
using groups::Shape;
using groups::State;
using groups::Topology;
using groups::Watermark;
using ledger::Time;

constexpr std::size_t kMaxLayout = groups::Limits{}.max_layout;

std::optional<Role> parse_role(std::string_view name) {
  for (const Role role : groups::kRoles) {
    if (to_string(role) == name) return role;
  }
  return std::nullopt;
}
std::optional<State> parse_state(std::string_view name) {
  for (const State state : groups::kStates) {
    if (to_string(state) == name) return state;
  }
  return std::nullopt;
}

// --- parts of messages -----------------------------------------------------------------------
// Declared first, because the templates below find them by name only.
void write(Json& out, const Rank& rank);
void read(Fields& in, Rank& rank);
void write(Json& out, const Pipeline& pipeline);
void read(Fields& in, Pipeline& pipeline);
void write(Json& out, const Topology& topology);
void read(Fields& in, Topology& topology);
void write(Json& out, const Shape& shape);
void read(Fields& in, Shape& shape);
void write(Json& out, const Watermark& mark);
void read(Fields& in, Watermark& mark);
void write(Json& out, const Resume& resume);
void read(Fields& in, Resume& resume);
void write(Json& out, const Restore& restore);
void read(Fields& in, Restore& restore);
void write(Json& out, const Plan& plan);
void read(Fields& in, Plan& plan);
void write(Json& out, const Member& member);
void read(Fields& in, Member& member);
void write(Json& out, const Group& group);
void read(Fields& in, Group& group);

template <typename Part>
void write_part(Json& out, const char* name, const Part& part) {
  write(out[name] = Json::object(), part);
}
template <typename Part>
void read_part(Fields& in, const char* name, Part& part) {
  in.object(name, part, [](Fields& fields, Part& inner) { read(fields, inner); });
}
template <typename Part>
void write_parts(Json& out, const char* name, const std::vector<Part>& parts) {
  Json& array = out[name] = Json::array();
  for (const Part& part : parts) {
    Json one = Json::object();
    write(one, part);
    array.push_back(std::move(one));
  }
}
template <typename Part>
void read_parts(Fields& in, const char* name, std::vector<Part>& parts, std::size_t max) {
  in.objects(name, parts, max, [](Fields& fields, Part& part) { read(fields, part); });
}

void write(Json& out, const Rank& rank) {
  out["role"] = to_string(rank.role);
  out["stage"] = rank.stage;
  out["tensor"] = rank.tensor;
}
void read(Fields& in, Rank& rank) {
  in.named("role", rank.role, parse_role);
  in.number("stage", rank.stage);
  in.number("tensor", rank.tensor);
}

void write(Json& out, const Pipeline& pipeline) {
  out["stages"] = pipeline.stages;
  out["tensor"] = pipeline.tensor;
}
void read(Fields& in, Pipeline& pipeline) {
  in.number("stages", pipeline.stages);
  in.number("tensor", pipeline.tensor);
}

// What has no pipeline of a role may leave it out.
void write(Json& out, const Topology& topology) {
  write_part(out, "prefill", topology.prefill);
  write_part(out, "decode", topology.decode);
}
void read(Fields& in, Topology& topology) {
  if (in.has("prefill")) read_part(in, "prefill", topology.prefill);
  if (in.has("decode")) read_part(in, "decode", topology.decode);
}

void write(Json& out, const Shape& shape) {
  out["model"] = shape.model;
  out["dtype"] = shape.dtype;
  out["layout"] = shape.layout;
}
void read(Fields& in, Shape& shape) {
  in.text("model", shape.model);
  in.text("dtype", shape.dtype);
  in.text("layout", shape.layout, kMaxLayout);
}

void write(Json& out, const Watermark& mark) {
  write_part(out, "of", mark.of);
  out["sequence"] = mark.sequence;
  out["mark"] = mark.mark;
}
void read(Fields& in, Watermark& mark) {
  read_part(in, "of", mark.of);
  in.number("sequence", mark.sequence);
  in.number("mark", mark.mark);
}

void write(Json& out, const Resume& resume) {
  out["role"] = to_string(resume.role);
  out["sequence"] = resume.sequence;
  out["mark"] = resume.mark;
}
void read(Fields& in, Resume& resume) {
  in.named("role", resume.role, parse_role);
  in.number("sequence", resume.sequence);
  in.number("mark", resume.mark);
}

void write(Json& out, const Restore& restore) {
  write_part(out, "rank", restore.rank);
  out["sequence"] = restore.sequence;
  out["from"] = to_string(restore.from);
  out["mark"] = restore.mark;
}
void read(Fields& in, Restore& restore) {
  read_part(in, "rank", restore.rank);
  in.number("sequence", restore.sequence);
  in.id("from", restore.from);
  in.number("mark", restore.mark);
}

void write(Json& out, const Plan& plan) {
  write_parts(out, "resume", plan.resume);
  write_parts(out, "restore", plan.restore);
}
void read(Fields& in, Plan& plan) {
  read_parts(in, "resume", plan.resume, kMaxRows);
  read_parts(in, "restore", plan.restore, kMaxRows);
}

void write(Json& out, const Member& member) {
  out["client"] = to_string(member.client);
  out["name"] = member.name;
  if (!member.server.empty()) out["server"] = member.server;
  if (member.rank) write_part(out, "rank", *member.rank);
  out["order"] = member.order;
  out["silent"] = member.silent;
  out["acknowledged"] = member.acknowledged;
  out["resumed"] = member.resumed;
}
void read(Fields& in, Member& member) {
  in.id("client", member.client);
  in.text("name", member.name);
  if (in.has("server")) in.text("server", member.server);
  if (in.has("rank")) read_part(in, "rank", member.rank.emplace());
  in.number("order", member.order);
  in.flag("silent", member.silent);
  in.flag("acknowledged", member.acknowledged);
  in.flag("resumed", member.resumed);
}

void write(Json& out, const Group& group) {
  out["id"] = to_string(group.id);
  out["name"] = group.name;
  out["creator"] = to_string(group.creator);
  out["user"] = group.user;
  write_part(out, "topology", group.topology);
  write_part(out, "shape", group.shape);
  out["state"] = to_string(group.state);
  out["term"] = group.term;
  out["version"] = group.version;
  std::vector<Member> members;
  for (const auto& [client, member] : group.members) members.push_back(member);
  write_parts(out, "members", members);
  if (group.plan) write_part(out, "plan", *group.plan);
}
void read(Fields& in, Group& group) {
  in.id("id", group.id);
  in.text("name", group.name);
  in.id("creator", group.creator);
  in.number("user", group.user);
  read_part(in, "topology", group.topology);
  read_part(in, "shape", group.shape);
  in.named("state", group.state, parse_state);
  in.number("term", group.term, 1);
  in.number("version", group.version, 1);
  std::vector<Member> members;
  read_parts(in, "members", members, kMaxRows);
  for (Member& member : members) group.members[member.client] = std::move(member);
  if (in.has("plan")) read_part(in, "plan", group.plan.emplace());
}

// --- as it is stored ---------------------------------------------------------------------------
// Five numbers for each mark, one after the other: there may be thousands.
constexpr std::size_t kMarkNumbers = 5;

struct MemberMarks {
  ClientId client;
  std::vector<std::uint64_t> numbers;
};

Json marks_of(const Member& member) {
  Json numbers = Json::array();
  for (const Watermark& mark : member.marks) {
    for (const std::uint64_t number :
         {std::uint64_t{mark.of.role == Role::decode}, std::uint64_t{mark.of.stage},
          std::uint64_t{mark.of.tensor}, mark.sequence, mark.mark})
      numbers.push_back(number);
  }
  return numbers;
}
void read_marks(Fields& in, MemberMarks& marks) {
  in.id("client", marks.client);
  in.numbers("marks", marks.numbers, kMarkNumbers * groups::Limits{}.max_marks);
  if (marks.numbers.size() % kMarkNumbers != 0) in.fail("marks", "end in the middle of one");
}
void take_marks(Fields& in, Member& member, const std::vector<std::uint64_t>& numbers) {
  for (std::size_t i = 0; i + kMarkNumbers <= numbers.size(); i += kMarkNumbers) {
    const std::uint64_t* const mark = &numbers[i];
    if (mark[0] > 1 || mark[1] > UINT32_MAX || mark[2] > UINT32_MAX)
      return in.fail("members", "have a mark of a rank that cannot be");
    const Rank of{mark[0] == 1 ? Role::decode : Role::prefill, static_cast<std::uint32_t>(mark[1]),
                  static_cast<std::uint32_t>(mark[2])};
    member.marks.push_back({of, mark[3], mark[4]});
  }
}

// The plan follows from the marks, for whoever has looked at them (Book::of).
void write(Json& out, const StoredGroup& stored, Time) {
  write(out, stored.group);
  out.erase("plan");
  out["server"] = stored.group.server;
  out["creator_gone"] = stored.group.creator_gone;
  out["joins"] = stored.group.joins;
  std::size_t at = 0;
  for (const auto& [client, member] : stored.group.members)
    out["members"][at++]["marks"] = marks_of(member);
}
void read(Fields& in, StoredGroup& stored, Time) {
  Group& group = stored.group;
  read(in, group);
  in.text("server", group.server);
  in.flag("creator_gone", group.creator_gone);
  in.number("joins", group.joins);
  std::vector<MemberMarks> marks;
  in.objects("members", marks, kMaxRows, read_marks);
  if (marks.size() != group.members.size()) in.fail("members", "have one of them twice");
  for (const MemberMarks& row : marks) take_marks(in, group.members[row.client], row.numbers);
  group.plan.reset();
}

// --- messages ----------------------------------------------------------------------------------
void write(Json& out, const CreateGroupRequest& request, Time) {
  out["name"] = request.name;
  write_part(out, "topology", request.topology);
  write_part(out, "shape", request.shape);
  out["may_exist"] = request.may_exist;
}
void read(Fields& in, CreateGroupRequest& request, Time) {
  in.text("name", request.name);
  read_part(in, "topology", request.topology);
  read_part(in, "shape", request.shape);
  if (in.has("may_exist")) in.flag("may_exist", request.may_exist);
}

void write(Json& out, const JoinGroupRequest& request, Time) {
  out["name"] = request.name;
  write_part(out, "shape", request.shape);
  if (request.rank) write_part(out, "rank", *request.rank);
}
void read(Fields& in, JoinGroupRequest& request, Time) {
  in.text("name", request.name);
  read_part(in, "shape", request.shape);
  if (in.has("rank")) read_part(in, "rank", request.rank.emplace());
}

void write(Json& out, const AcknowledgeRequest& request, Time) {
  out["term"] = request.term;
  write_parts(out, "marks", request.marks);
}
void read(Fields& in, AcknowledgeRequest& request, Time) {
  in.number("term", request.term);
  read_parts(in, "marks", request.marks, kMaxBatch);
}

void write(Json& out, const ResumedRequest& request, Time) {
  out["term"] = request.term;
}
void read(Fields& in, ResumedRequest& request, Time) {
  in.number("term", request.term);
}

void write(Json& out, const GroupReply& reply, Time) {
  out["epoch"] = to_string(reply.epoch);
  write_part(out, "group", reply.group);
}
void read(Fields& in, GroupReply& reply, Time) {
  in.id("epoch", reply.epoch);
  read_part(in, "group", reply.group);
}

void write(Json& out, const Groups& groups, Time) {
  out["epoch"] = to_string(groups.epoch);
  write_parts(out, "groups", groups.groups);
}
void read(Fields& in, Groups& groups, Time) {
  in.id("epoch", groups.epoch);
  read_parts(in, "groups", groups.groups, kMaxRows);
}

}  // namespace

AQUA_WIRE_MESSAGE(CreateGroupRequest, kMaxRequestBytes)
AQUA_WIRE_MESSAGE(JoinGroupRequest, kMaxRequestBytes)
AQUA_WIRE_MESSAGE(AcknowledgeRequest, kMaxRequestBytes)
AQUA_WIRE_MESSAGE(ResumedRequest, kMaxRequestBytes)
AQUA_WIRE_MESSAGE(StoredGroup, kMaxReplyBytes)
AQUA_WIRE_MESSAGE(GroupReply, kMaxReplyBytes)
AQUA_WIRE_MESSAGE(Groups, kMaxReplyBytes)

}  // namespace aqua::wire
