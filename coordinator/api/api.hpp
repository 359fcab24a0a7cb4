// SPDX-License-Identifier: Apache-2.0
// The HTTP API under /v1, as docs/operate/http.md describes it. Handlers are thin: decode, ask the
// ledger once, encode.
//
// Threads: handlers run concurrently; what they share has locks of its own.
#pragma once

#include <string>

#include "aqua/result.hpp"
#include "coordinator/access/sessions.hpp"
#include "coordinator/api/shared_text.hpp"
#include "coordinator/http/replay_book.hpp"
#include "coordinator/http/router.hpp"
#include "coordinator/observe/journal.hpp"
#include "coordinator/observe/metrics.hpp"
#include "coordinator/servers/server_directory.hpp"
#include "coordinator/service/group_service.hpp"
#include "coordinator/service/ledger_service.hpp"
#include "coordinator/service/readiness.hpp"
#include "wire/clients.hpp"
#include "wire/events.hpp"
#include "wire/groups.hpp"
#include "wire/observation.hpp"
#include "wire/servers.hpp"
#include "wire/slabs.hpp"
#include "wire/state.hpp"

namespace aqua::coordinator {

// What every handler may use; all of it outlives the server.
struct Api {
  LedgerService& service;
  GroupService& groups;
  Sessions& sessions;
  Journal& journal;
  Metrics& metrics;
  Readiness& readiness;
  ServerDirectory& servers;
  std::string version;
  std::string server;                           // boot id
  std::string host;                             // the machine's name
  std::string lifeline;                         // path
  Survives leases_survive = Survives::process;  // a restart of the machine ends local leases anyway
  ReplayBook replays{};
  SharedText states{};
};

// Adds every route, and to the metrics; `api` is borrowed.
void install_api(Router& router, Api& api);

// Calls `handler` once for each idempotency key, where one was sent: sent again, the request is
// answered with the first reply. What was refused changed nothing, and may be tried again. A
// request whose handler throws may have been done: it is not tried again, and has no reply (500,
// internal).
[[nodiscard]] Handler once(Api& api, Handler handler);

// --- clients -------------------------------------------------------------------------------
[[nodiscard]] Result<wire::RenewReply> join(Api& api, const Session& caller,
                                            const wire::JoinRequest& request);
[[nodiscard]] Result<wire::RenewReply> renew(Api& api, const Session& caller);
[[nodiscard]] Result<wire::Ack> leave(Api& api, const Session& caller);
[[nodiscard]] Result<wire::Snapshot> snapshot(Api& api, const Session& caller);

// --- slabs ---------------------------------------------------------------------------------
[[nodiscard]] Result<wire::Ack> offer(Api& api, const Session& caller,
                                      const wire::OfferRequest& request);
[[nodiscard]] Result<wire::Ack> withdraw(Api& api, const Session& caller,
                                         const wire::WithdrawRequest& request);
[[nodiscard]] Result<wire::ScrubbedReply> scrubbed(Api& api, const Session& caller,
                                                   const wire::ScrubbedRequest& request);
[[nodiscard]] Result<wire::ReclaimReply> reclaim(Api& api, const Session& caller,
                                                 const wire::ReclaimRequest& request);
[[nodiscard]] Result<wire::ReclaimReply> reclaim_status(Api& api, const Session& caller,
                                                        std::uint64_t id);
[[nodiscard]] Result<wire::LeaseReply> lease(Api& api, const Session& caller,
                                             const wire::LeaseRequest& request);
[[nodiscard]] Result<wire::ReturnReply> give_back(Api& api, const Session& caller,
                                                  const wire::ReturnRequest& request);

// --- groups --------------------------------------------------------------------------------
[[nodiscard]] Result<wire::GroupReply> create_group(Api& api, const Session& caller,
                                                    const wire::CreateGroupRequest& request);
[[nodiscard]] Result<wire::GroupReply> join_group(Api& api, const Session& caller,
                                                  const groups::GroupId& id,
                                                  const wire::JoinGroupRequest& request);
[[nodiscard]] Result<wire::GroupReply> acknowledge_group(Api& api, const Session& caller,
                                                         const groups::GroupId& id,
                                                         const wire::AcknowledgeRequest& request);
[[nodiscard]] Result<wire::GroupReply> group_resumed(Api& api, const Session& caller,
                                                     const groups::GroupId& id,
                                                     const wire::ResumedRequest& request);
[[nodiscard]] Result<wire::Ack> leave_group(Api& api, const Session& caller,
                                            const groups::GroupId& id);
[[nodiscard]] Result<wire::Ack> close_group(Api& api, const Session& caller,
                                            const groups::GroupId& id);
[[nodiscard]] Result<wire::GroupReply> watch_group(Api& api, const Session& caller,
                                                   const groups::GroupId& id,
                                                   std::optional<std::uint64_t> after,
                                                   std::chrono::milliseconds timeout);
// To look at; an operator's end of one.
[[nodiscard]] wire::Groups all_groups(Api& api);
[[nodiscard]] Result<wire::GroupReply> group(Api& api, const groups::GroupId& id);
[[nodiscard]] Result<wire::Ack> end_group(Api& api, const groups::GroupId& id);

// --- for operators -------------------------------------------------------------------------
[[nodiscard]] wire::Info info(Api& api);
// The text of GET /v1/state, as of this call or later.
[[nodiscard]] SharedText::Text state_text(Api& api);
[[nodiscard]] wire::Pairs pairs(Api& api);
[[nodiscard]] Result<wire::Ack> pair(Api& api, const wire::PairRequest& request);
[[nodiscard]] Result<wire::Ack> unpair(Api& api, const ClientId& consumer);

// --- to look at ----------------------------------------------------------------------------
// The text of GET /metrics. Holds the ledger's lock for a pass over clients and reclaims.
[[nodiscard]] std::string metrics_text(Api& api);
[[nodiscard]] Result<wire::SlabStory> slab_story(Api& api, const ledger::SlabId& slab);
[[nodiscard]] wire::History history(Api& api);
[[nodiscard]] wire::Servers servers(Api& api);
[[nodiscard]] Result<wire::Ready> readiness(Api& api);

// --- an operator's orders ------------------------------------------------------------------
[[nodiscard]] Result<wire::ReclaimReply> recall(Api& api, const wire::RecallRequest& request);
[[nodiscard]] Result<wire::Ack> drain(Api& api, const wire::DrainRequest& request);
[[nodiscard]] Result<wire::Ack> end_drain(Api& api, const ClientId& client);

}  // namespace aqua::coordinator
