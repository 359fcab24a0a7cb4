// SPDX-License-Identifier: Apache-2.0
// Book knows the groups: which process has which rank of a pipeline, who stands by, and in which
// term. It is a pure state machine: no I/O, no clock, no thread (the caller serialises).
//
// Every state x event pair is written down in docs/internals/groups.md and tested as a table. What
// it guards: in one term a rank has one member at most, ever; a term only grows; nothing happens to
// a member because it is silent; a group resumes when every member has acknowledged the term.
//
// Changes:  are counted until commit(). They are made in a copy of the book, which is told once it
//           is written down, or thrown away: a term that is not written must not be told, since the
//           next life of the coordinator would give it to others.
// Errors:   not_found for a group that is not known, or a member that is not in it; the others as
//           said. A refused call changes nothing.
// Cost:     of the group concerned, not of the others.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "groups/types.hpp"

namespace aqua::groups {

class Book {
 public:
  explicit Book(Limits limits = {}) : limits_(limits) {}
  // Makes a book from the rows of a former life. All members are silent and are asked anew to
  // acknowledge; a group whose plan had been told begins a new term, because some may have carried
  // out what the others never heard of. Such changes wait for commit() as others do. data_loss when
  // the rows contradict each other or the limits.
  [[nodiscard]] static Result<Book> restore(Limits limits, const std::vector<GroupRow>& rows);

  // Makes a book from groups as another coordinator has told them, whole but for their plans, which
  // follow. data_loss as restore().
  [[nodiscard]] static Result<Book> of(Limits limits, std::vector<Group> groups);

  // --- groups ----------------------------------------------------------------------------
  // Creates a group without members, which lives for as long as it has any, or its creator lives.
  // `id` is drawn at random by the caller. already_exists when the name is taken;
  // resource_exhausted over a limit; invalid_argument for a topology without ranks or beyond
  // limits.max_ranks, and for texts that are empty or too long.
  [[nodiscard]] Result<void> create(const GroupId& id, std::string_view name,
                                    const Topology& topology, const Shape& shape,
                                    const Caller& creator);
  // Ends it. permission_denied unless the caller is its creator or a member.
  [[nodiscard]] Result<void> close(const GroupId& id, const Caller& caller);
  // The same for an operator.
  [[nodiscard]] Result<void> close(const GroupId& id);

  // --- members ---------------------------------------------------------------------------
  struct Join {
    std::string name;
    Shape shape;
    std::optional<Rank> rank;  // nullopt: as a standby
  };
  // Joins. permission_denied for a process of another user; failed_precondition, naming the field,
  // for another shape; invalid_argument for a rank that the group does not have; already_exists
  // for a rank that has a member, and for a client that is in the group in another place (in the
  // same it is a repetition, and changes nothing); resource_exhausted over a limit.
  [[nodiscard]] Result<void> join(const GroupId& id, const Caller& caller, const Join& request);
  // Leaves in order. A rank left begins a new term, as a death does: nothing is taken over by the
  // next member that the last one did not commit.
  [[nodiscard]] Result<void> leave(const GroupId& id, const ClientId& client);
  // Proven dead, or has left the coordinator in order, of one group or of all. Whoever is neither a
  // member nor the creator changes nothing, here and in silent().
  void gone(const GroupId& id, const ClientId& client);
  void gone(const ClientId& client);
  // Silent, or heard of again. A silent standby is not taken while another is; else silence
  // changes nothing.
  void silent(const GroupId& id, const ClientId& client, bool is_silent);

  // --- recovery --------------------------------------------------------------------------
  // "I act under no older term any more, and this is what I have." When the last member has said
  // so the plan is made. Repeated in one term it changes nothing. aborted when `term` is over;
  // invalid_argument when it has never been, or for marks that name ranks the group does not have,
  // or one sequence of a rank twice; resource_exhausted for too many marks; failed_precondition by
  // a standby, or while the group forms.
  [[nodiscard]] Result<void> acknowledge(const GroupId& id, const ClientId& client, Term term,
                                         std::vector<Watermark> marks);
  // "I have what the plan says." When the last member has said so the group runs. Errors as
  // acknowledge(); failed_precondition while no plan is told.
  [[nodiscard]] Result<void> resumed(const GroupId& id, const ClientId& client, Term term);

  // --- being written down ------------------------------------------------------------------
  // What differs from the last commit() in the rows of a store.
  struct Changes {
    std::vector<GroupRow> put;
    std::vector<GroupId> gone;
    [[nodiscard]] bool empty() const noexcept { return put.empty() && gone.empty(); }
  };
  [[nodiscard]] Changes changes() const;
  // The groups that have changed since then in any way, those that ended included.
  [[nodiscard]] std::vector<GroupId> touched() const;
  // One of these as it was; nullptr: it was not there.
  [[nodiscard]] const Group* before(const GroupId& id) const;
  void commit() noexcept { before_.clear(); }

  // --- reading ---------------------------------------------------------------------------
  [[nodiscard]] const std::map<GroupId, Group>& groups() const noexcept { return groups_; }
  [[nodiscard]] Result<const Group*> find(const GroupId& id) const;
  [[nodiscard]] std::optional<GroupId> named(std::string_view name) const;
  // Members, standbys and creators; of one server.
  [[nodiscard]] std::set<ClientId> clients() const;
  [[nodiscard]] std::set<ClientId> clients_of(std::string_view server) const;
  [[nodiscard]] const Limits& limits() const noexcept { return limits_; }
  // Empty when every invariant holds; otherwise what is broken. For tests and fuzzers.
  [[nodiscard]] std::string check_invariants() const;

 private:
  // A member of `id` that has a rank, and its group, as of `term`.
  [[nodiscard]] Result<const Group*> of_member(const GroupId& id, const ClientId& client, Term term,
                                               std::string_view operation) const;
  [[nodiscard]] Result<void> check_marks(const Group& group, const ClientId& client,
                                         const std::vector<Watermark>& marks) const;
  [[nodiscard]] Result<void> check_new(std::string_view name, const Topology& topology,
                                       const Shape& shape) const;
  [[nodiscard]] Result<void> add(Group group);
  // The group, to be changed: remembers what it was.
  Group& edit(const GroupId& id);
  void end(const GroupId& id);
  void remove(const GroupId& id, const ClientId& client);
  [[nodiscard]] std::set<GroupId> groups_of(const ClientId& client) const;

  Limits limits_;
  std::map<GroupId, Group> groups_;
  std::map<std::string, GroupId, std::less<>> names_;  // of groups_
  std::map<GroupId, std::optional<Group>> before_;  // as of the last commit(); nullopt: not there
};

}  // namespace aqua::groups
