// SPDX-License-Identifier: Apache-2.0
// Groups: who has which rank of a pipeline (docs/internals/groups.md).
#include "base/concat.hpp"
#include "base/try.hpp"
#include "coordinator/api/api.hpp"

namespace aqua::coordinator {

using groups::Book;
using groups::Group;
using groups::GroupId;

namespace {

groups::Caller caller_of(const Api& api, const Session& session) {
  return {.client = session.client, .user = session.uid, .server = api.groups.server()};
}

wire::GroupReply told(Api& api, Group group) {
  return {.epoch = api.service.epoch(), .group = std::move(group)};
}

// Looked for while nothing can happen to the book: a client that came in after its lifeline had
// closed, or after it had left, would have nobody to notice its death.
Result<void> still_a_client(Api& api, const Session& caller) {
  if (!api.sessions.find(caller.secret))
    return Error{Code::permission_denied, "group: the session is over"};
  const bool joined = api.service.with([&](ledger::Ledger& ledger, ledger::Time) {
    const auto row = ledger.clients().find(caller.client);
    return row != ledger.clients().end() && !row->second.restored;
  });
  if (joined) return {};
  return Error{Code::failed_precondition,
               "group: join as a client first (POST /v1/clients), so that signs of life are kept"};
}

// work(book) as the caller, then the group as it is.
template <typename Work>
Result<wire::GroupReply> change(Api& api, const Session& caller, const GroupId& id, Work&& work) {
  AQUA_ASSIGN(Group group, api.groups.change([&](Book& book) -> Result<Group> {
    AQUA_TRY(still_a_client(api, caller));
    AQUA_TRY(work(book));
    AQUA_ASSIGN(const Group* changed, book.find(id));
    return *changed;
  }));
  return told(api, std::move(group));
}

Result<void> agrees(const Group& group, const wire::CreateGroupRequest& request,
                    const Session& caller) {
  const auto differs = [&](std::string_view what) {
    return Error{Code::failed_precondition,
                 concat("create: there is a group \"", group.name, "\" of another ", what)};
  };
  if (group.user != caller.uid) {
    return Error{Code::permission_denied,
                 concat("create: group \"", group.name, "\" is of another user's processes")};
  }
  if (group.topology != request.topology) return differs("topology");
  if (group.shape.model != request.shape.model) return differs("model");
  if (group.shape.dtype != request.shape.dtype) return differs("dtype");
  if (group.shape.layout != request.shape.layout) return differs("layout");
  return {};
}

}  // namespace

Result<wire::GroupReply> create_group(Api& api, const Session& caller,
                                      const wire::CreateGroupRequest& request) {
  AQUA_ASSIGN(Group group, api.groups.change([&](Book& book) -> Result<Group> {
    AQUA_TRY(still_a_client(api, caller));
    if (const auto known = book.named(request.name); known && request.may_exist) {
      AQUA_ASSIGN(const Group* found, book.find(*known));
      AQUA_TRY(agrees(*found, request, caller));
      return *found;
    }
    const auto id = random_id<groups::GroupTag>();
    AQUA_TRY(
        book.create(id, request.name, request.topology, request.shape, caller_of(api, caller)));
    AQUA_ASSIGN(const Group* made, book.find(id));
    return *made;
  }));
  return told(api, std::move(group));
}

Result<wire::GroupReply> join_group(Api& api, const Session& caller, const GroupId& id,
                                    const wire::JoinGroupRequest& request) {
  return change(api, caller, id, [&](Book& book) {
    return book.join(id, caller_of(api, caller), {request.name, request.shape, request.rank});
  });
}

Result<wire::GroupReply> acknowledge_group(Api& api, const Session& caller, const GroupId& id,
                                           const wire::AcknowledgeRequest& request) {
  return change(api, caller, id, [&](Book& book) {
    return book.acknowledge(id, caller.client, request.term, request.marks);
  });
}

Result<wire::GroupReply> group_resumed(Api& api, const Session& caller, const GroupId& id,
                                       const wire::ResumedRequest& request) {
  return change(api, caller, id,
                [&](Book& book) { return book.resumed(id, caller.client, request.term); });
}

Result<wire::Ack> leave_group(Api& api, const Session& caller, const GroupId& id) {
  AQUA_TRY(api.groups.change([&](Book& book) { return book.leave(id, caller.client); }));
  return wire::Ack{api.service.epoch()};
}

Result<wire::Ack> close_group(Api& api, const Session& caller, const GroupId& id) {
  AQUA_TRY(api.groups.change([&](Book& book) { return book.close(id, caller_of(api, caller)); }));
  return wire::Ack{api.service.epoch()};
}

Result<wire::GroupReply> watch_group(Api& api, const Session& caller, const GroupId& id,
                                     std::optional<std::uint64_t> after,
                                     std::chrono::milliseconds timeout) {
  AQUA_ASSIGN(Group group, api.groups.watch(id, after, timeout, caller.uid, [&] {
    return api.sessions.find(caller.secret).has_value();
  }));
  return told(api, std::move(group));
}

wire::Groups all_groups(Api& api) {
  wire::Groups all{.epoch = api.service.epoch(), .groups = api.groups.all()};
  for (Group& group : all.groups) group.plan.reset();
  return all;
}

Result<wire::GroupReply> group(Api& api, const GroupId& id) {
  AQUA_ASSIGN(Group found, api.groups.find(id));
  return told(api, std::move(found));
}

Result<wire::Ack> end_group(Api& api, const GroupId& id) {
  AQUA_TRY(api.groups.change([&](Book& book) { return book.close(id); }));
  return wire::Ack{api.service.epoch()};
}

}  // namespace aqua::coordinator
