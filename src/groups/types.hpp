// SPDX-License-Identifier: Apache-2.0
// A group's rows, messages and limits, as plain data. docs/internals/groups.md says what they mean.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "base/ids.hpp"

namespace aqua::groups {

// One life of one group, drawn at random when it is created: a later group of the same name has
// another, so that nothing of the former one is ever mistaken for the latter's.
using GroupId = Id128<struct GroupTag>;

// Numbers the memberships of a group, from 1. It only grows: by one, whenever a rank loses its
// member.
using Term = std::uint64_t;

enum class Role : std::uint8_t { prefill, decode };
inline constexpr std::array kRoles{Role::prefill, Role::decode};

// A place in a pipeline.
struct Rank {
  Role role = Role::decode;
  std::uint32_t stage = 0;
  std::uint32_t tensor = 0;  // tensor-parallel rank inside the stage
  friend auto operator<=>(const Rank&, const Rank&) = default;
};

// stages x tensor ranks; no pipeline where stages == 0.
struct Pipeline {
  std::uint32_t stages = 0;
  std::uint32_t tensor = 1;
  friend bool operator==(const Pipeline&, const Pipeline&) = default;
};

// The ranks of a group. A pipeline that does both is a decode pipeline alone. Prefill and decode in
// one group share its terms, so that a death in either seals both; two groups keep them apart.
struct Topology {
  Pipeline prefill;
  Pipeline decode;
  friend bool operator==(const Topology&, const Topology&) = default;

  [[nodiscard]] const Pipeline& of(Role role) const noexcept {
    return role == Role::prefill ? prefill : decode;
  }
  [[nodiscard]] bool contains(const Rank& rank) const noexcept {
    return rank.stage < of(rank.role).stages && rank.tensor < of(rank.role).tensor;
  }
  // All of them, in order.
  [[nodiscard]] std::vector<Rank> ranks() const;
};

// What all members of a group must have alike, compared as text.
struct Shape {
  std::string model;
  std::string dtype;
  std::string layout;  // the KV cache's axes, in the words of whoever built it
  friend bool operator==(const Shape&, const Shape&) = default;
};

// "Of the KV of `of`, I have sequence `sequence` up to `mark`": a member's own, or a replica that
// it keeps for another rank. Marks are the engine's numbers (a step, a token); more is later.
struct Watermark {
  Rank of;
  std::uint64_t sequence = 0;
  std::uint64_t mark = 0;
  friend auto operator<=>(const Watermark&, const Watermark&) = default;
};

// From where a sequence goes on in every rank of the role's pipeline. 0: from its prompt.
struct Resume {
  Role role = Role::decode;
  std::uint64_t sequence = 0;
  std::uint64_t mark = 0;
  friend bool operator==(const Resume&, const Resume&) = default;
};

// "What `rank` lacks of `sequence` up to the point of resumption, `from` has, up to `mark`."
struct Restore {
  Rank rank;
  std::uint64_t sequence = 0;
  ClientId from;
  std::uint64_t mark = 0;
  friend bool operator==(const Restore&, const Restore&) = default;
};

// What the members of a term do before they go on. Both lists are sorted.
struct Plan {
  std::vector<Resume> resume;
  std::vector<Restore> restore;
  friend bool operator==(const Plan&, const Plan&) = default;
};

enum class State : std::uint8_t {
  forming,   // not all ranks have had a member yet
  running,   // every rank has a member, and all of them act in this term
  waiting,   // a rank has no member and there is no live standby for it
  sealing,   // every rank has a member; some have not acknowledged the term
  resuming,  // all have acknowledged, and the plan is told; some have not carried it out
  closed,    // no row is kept, so also: unknown
};
inline constexpr std::array kStates{State::forming, State::running,  State::waiting,
                                    State::sealing, State::resuming, State::closed};

inline constexpr std::uint32_t kUnknownUser = 0xffffffff;  // no user has this number

// Who calls, as the kernel told it.
struct Caller {
  ClientId client;
  std::uint32_t user = kUnknownUser;
  std::string server{};  // of groups that several share; "" of others
};

struct Member {
  ClientId client;
  std::string name{};        // for people
  std::string server{};      // Caller::server
  std::optional<Rank> rank;  // nullopt: a standby
  std::uint64_t order = 0;   // of joining; standbys are taken in it
  bool silent = false;       // its time to live ran out, or its lifeline is closed
  // In this term:
  bool acknowledged = false;
  bool resumed = false;
  std::vector<Watermark> marks;  // sorted
  friend bool operator==(const Member&, const Member&) = default;
};

struct Group {
  GroupId id;
  std::string name;
  ClientId creator;
  std::string server{};  // the creator's
  bool creator_gone = false;
  std::uint32_t user = kUnknownUser;  // whose processes may join
  Topology topology;
  Shape shape;
  State state = State::forming;
  Term term = 1;
  std::uint64_t version = 1;  // grows with every change; not kept over a restart
  std::uint64_t joins = 0;    // so far; Member::order comes of it
  std::map<ClientId, Member> members;
  std::optional<Plan> plan;  // in resuming
  friend bool operator==(const Group&, const Group&) = default;

  [[nodiscard]] const Member* holder(const Rank& rank) const;
  [[nodiscard]] std::vector<Rank> empty_ranks() const;
};

// A group as it is stored: without what is asked again after a restart (who is silent, who has
// acknowledged or resumed, watermarks, the plan).
struct MemberRow {
  ClientId client;
  std::string name;
  std::optional<Rank> rank;
  std::uint64_t order = 0;
  friend bool operator==(const MemberRow&, const MemberRow&) = default;
};
struct GroupRow {
  GroupId id;
  std::string name;
  ClientId creator;
  bool creator_gone = false;
  std::uint32_t user = kUnknownUser;
  Topology topology;
  Shape shape;
  State state = State::forming;
  Term term = 1;
  std::uint64_t joins = 0;
  std::vector<MemberRow> members;  // by client
  friend bool operator==(const GroupRow&, const GroupRow&) = default;
};
[[nodiscard]] GroupRow row_of(const Group& group);

struct Limits {
  std::size_t max_groups = 256;  // in all; one user has three quarters of them at most
  std::size_t max_groups_of_client = 16;
  std::size_t max_ranks = 64;
  std::size_t max_standbys = 16;
  std::size_t max_marks = 4096;          // of one member
  std::size_t max_marks_in_all = 16384;  // of one group
  std::size_t max_name = 128;            // bytes: names, model, dtype
  std::size_t max_layout = 1024;
};

[[nodiscard]] std::string_view to_string(Role role) noexcept;
[[nodiscard]] std::string_view to_string(State state) noexcept;
[[nodiscard]] std::string to_string(const Rank& rank);  // "decode 1.0": role, stage, tensor rank

}  // namespace aqua::groups
