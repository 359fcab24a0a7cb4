// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/concat.hpp"
#include "base/step.hpp"
#include "base/try.hpp"
#include "coordinator/api/api.hpp"

namespace aqua::coordinator {

using ledger::Ledger;
using ledger::Time;

Result<wire::Ack> offer(Api& api, const Session& caller, const wire::OfferRequest& request) {
  AQUA_TRY(api.service.with(
      [&](Ledger& ledger, Time now) { return ledger.offer(caller.client, request.slabs, now); }));
  // Only a new life of the ledger is told who holds what.
  if (std::ranges::any_of(request.slabs, [](const auto& slab) { return slab.holder.has_value(); }))
    step("reconnect");
  return wire::Ack{api.service.epoch()};
}

Result<wire::Ack> withdraw(Api& api, const Session& caller, const wire::WithdrawRequest& request) {
  AQUA_TRY(api.service.with([&](Ledger& ledger, Time now) {
    return ledger.withdraw(caller.client, request.indexes, now);
  }));
  return wire::Ack{api.service.epoch()};
}

Result<wire::ScrubbedReply> scrubbed(Api& api, const Session& caller,
                                     const wire::ScrubbedRequest& request) {
  wire::ScrubbedReply reply{.epoch = api.service.epoch(), .results = {}};
  reply.results = api.service.with(
      [&](Ledger& ledger, Time now) { return ledger.scrubbed(caller.client, request.slabs, now); });
  step("scrub");
  return reply;
}

Result<wire::ReclaimReply> reclaim(Api& api, const Session& caller,
                                   const wire::ReclaimRequest& request) {
  AQUA_ASSIGN(Ledger::ReclaimStart start, api.service.with([&](Ledger& ledger, Time now) {
    return ledger.reclaim(caller.client, request.bytes, now + request.within, now);
  }));
  return wire::ReclaimReply{api.service.epoch(), std::move(start.reclaim),
                            std::move(start.withdrawn)};
}

Result<wire::ReclaimReply> reclaim_status(Api& api, const Session& caller, std::uint64_t id) {
  return api.service.with([&](Ledger& ledger, Time) -> Result<wire::ReclaimReply> {
    const auto found = ledger.reclaims().find(id);
    // Another client's is not found either: whether it exists is nobody else's business.
    if (found == ledger.reclaims().end() || found->second.producer != caller.client) {
      return Error{Code::not_found, concat("reclaim ", id, ": there is none of this client")};
    }
    return wire::ReclaimReply{api.service.epoch(), found->second, {}};
  });
}

Result<wire::LeaseReply> lease(Api& api, const Session& caller, const wire::LeaseRequest& request) {
  AQUA_ASSIGN(std::vector<ledger::Grant> grants,
              api.service.promise(
                  api.leases_survive,
                  [&](Ledger& ledger, Time now) {
                    return ledger.lease(caller.client, request.bytes, request.exit_bytes, now);
                  },
                  // Nobody has heard of them, so nobody has mapped them.
                  [&](Ledger& ledger, Time now, const std::vector<ledger::Grant>& made) {
                    for (const ledger::Grant& grant : made)
                      (void)ledger.give_back(caller.client, grant.slab, grant.generation, now);
                  }));
  step("export");
  return wire::LeaseReply{api.service.epoch(), std::move(grants)};
}

Result<wire::ReturnReply> give_back(Api& api, const Session& caller,
                                    const wire::ReturnRequest& request) {
  wire::ReturnReply reply{.epoch = api.service.epoch(), .results = {}};
  reply.results = api.service.with([&](Ledger& ledger, Time now) {
    std::vector<Result<void>> results;
    for (const wire::Return& lease : request.leases) {
      results.push_back(ledger.give_back(caller.client, lease.slab, lease.generation, now));
    }
    return results;
  });
  step("return");
  return reply;
}

}  // namespace aqua::coordinator
