// SPDX-License-Identifier: Apache-2.0
// GroupMember is an engine's part in a group: the processes that serve one model as pipelines. The
// coordinator says who has which rank, in which term; when a member dies a standby gets its rank
// under the next term, and all go on from one plan (docs/internals/groups.md).
//
// What an engine does with its news: where GroupNews::acknowledge says so, it stops acting under
// older terms, seals what there is, and acknowledges with its watermarks; where GroupNews::resume
// does, it carries out the plan and says that it has resumed; in a group that runs it goes on, in
// that term. Everything that it sends to other members carries group and term; whoever takes it
// asks check().
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/export.h"
#include "aqua/result.hpp"

namespace aqua {

class Runtime;

enum class GroupRole : std::uint8_t { prefill, decode };

// A place in a pipeline: a stage, and the tensor-parallel rank inside it.
struct GroupRank {
  GroupRole role = GroupRole::decode;
  std::uint32_t stage = 0;
  std::uint32_t tensor = 0;
  friend auto operator<=>(const GroupRank&, const GroupRank&) = default;
};

// stages x tensor ranks; no pipeline where stages == 0.
struct GroupPipeline {
  std::uint32_t stages = 0;
  std::uint32_t tensor = 1;
};

// What all members must have alike, compared as text.
struct GroupShape {
  std::string model;
  std::string dtype;
  std::string layout;  // of the KV cache
};

// "Of the KV of rank `of`, I have this sequence up to `mark`": the engine's own number, of which
// more is later. Own KV, and replicas that are kept for other ranks.
struct GroupWatermark {
  GroupRank of;
  std::uint64_t sequence = 0;
  std::uint64_t mark = 0;
};

// From where a sequence goes on in all ranks of the role's pipeline; 0: from its prompt. Whatever
// anybody has beyond that, replicas too, is dropped before resumed(): what is computed again may
// differ, and a later plan would take the highest mark.
struct GroupResume {
  GroupRole role = GroupRole::decode;
  std::uint64_t sequence = 0;
  std::uint64_t mark = 0;
};
// What `rank` lacks of a sequence, member `from` has, up to `mark`.
struct GroupRestore {
  GroupRank rank;
  std::uint64_t sequence = 0;
  std::string from;  // GroupPeer::id
  std::uint64_t mark = 0;
};

enum class GroupState : std::uint8_t {
  forming,   // not all ranks have had a member yet
  running,   // every rank has a member, and all act in this term
  waiting,   // a rank has no member, and nobody stands by
  sealing,   // some members have not acknowledged the term
  resuming,  // the plan is told; some members have not carried it out
};

struct GroupPeer {
  std::string id;
  std::string name;
  std::optional<GroupRank> rank;  // nullopt: stands by
  bool silent = false;            // not heard of for a while: neither dead nor replaced
};

// The group as it is, after every change that one hears of. Who was away hears of the last term,
// not of each between. `acknowledge` and `resume` stay true in all news until the coordinator has
// heard what it waits for: who is at it already compares the term.
struct GroupNews {
  std::string group;  // id of this life of the group: 32 hex digits
  std::uint64_t term = 0;
  GroupState state = GroupState::forming;
  std::optional<GroupRank> rank;  // one's own; nullopt: standing by
  bool acknowledge = false;       // one's own acknowledgement of the term is waited for
  bool resume = false;            // one's own resumed() is
  std::vector<GroupPeer> members;
  std::vector<GroupResume> resumes;    // while resuming: where each sequence goes on
  std::vector<GroupRestore> restores;  // while resuming: what is restored from whom
};

struct GroupOptions {
  std::string name;
  GroupPipeline prefill{};
  GroupPipeline decode{};
  GroupShape shape{};
  std::optional<GroupRank> rank{};  // nullopt: to stand by
  // To have no place at all, and hear of the group: for what starts its processes, or sends them
  // requests. Where it has created the group, that stays while its runtime lives, also when every
  // member has died: later ones come into the same life, under a higher term.
  bool observes = false;
  std::string member{};  // one's own name, for people
  // Both are called as the runtime's callbacks are: one at a time, on its thread for them or in
  // tick(). They may call the member.
  std::function<void(const GroupNews&)> on_news{};
  // The part in the group has ended, or never began: refused (another shape, a rank that is taken,
  // more watermarks than a group may have), or the group was closed. Once, and nothing comes after
  // it. The place, where there is one, is kept until the GroupMember is destroyed.
  std::function<void(const Error&)> on_end{};
};

// Threads: every method may be called from any thread, also from a callback. One thread of its own
//          talks to the coordinator; no method waits for a socket.
// Owns:    its place in the group, if it has one, which it leaves when destroyed. It must be
//          destroyed before its runtime, and not in a callback. After the destructor no callback
//          begins; it waits for one in progress, and for a call to a coordinator that does not
//          answer, at most five seconds.
class AQUA_API GroupMember {
 public:
  // Returns at once, also while the coordinator is away: the group is created where there is none
  // of the name, and joined, as soon as it can be. A runtime has one part in a group at a time: the
  // next one begins when the coordinator has heard that the last one was given up.
  //   failed_precondition  the runtime has no coordinator; or this process is a fork
  //   invalid_argument     a rank for one that observes
  //   resource_exhausted   no thread more can be started
  [[nodiscard]] static Result<GroupMember> join(Runtime& runtime, GroupOptions options);
  // One that was moved from may only be assigned to or destroyed.
  GroupMember(GroupMember&&) noexcept;
  GroupMember& operator=(GroupMember&&) noexcept;
  ~GroupMember();

  // "I act under no older term any more, and this is what I have": check() refuses older terms from
  // now on. It is sent, and sent again, until the coordinator has it or the term is over; while the
  // group forms or runs, and by a standby, nothing is sent. At most 4096 marks, and 16384 of all
  // members of a group: report those that a plan may need.
  //   aborted              the term is over: news of the next are there or on their way
  //   invalid_argument     a term that was not told
  //   failed_precondition  it observes: nobody waits for what it says
  [[nodiscard]] Result<void> acknowledge(std::uint64_t term,
                                         const std::vector<GroupWatermark>& marks);
  // "I have carried out the plan." Likewise.
  [[nodiscard]] Result<void> resumed(std::uint64_t term);
  // Whether something that carries this group and term may be acted on, by the newest term that was
  // acknowledged here, or in which the group was first heard to run. One that observes goes by the
  // newest term that it has heard of.
  //   aborted            an older term: never
  //   unavailable        a newer one, or none is known yet: perhaps later
  //   permission_denied  another group's
  [[nodiscard]] Result<void> check(std::string_view group, std::uint64_t term) const;
  // The last news; a term of 0 before the first.
  [[nodiscard]] GroupNews news() const;

 private:
  struct AQUA_LOCAL Parts;
  explicit GroupMember(std::unique_ptr<Parts> parts) noexcept;
  std::unique_ptr<Parts> parts_;
};

}  // namespace aqua
