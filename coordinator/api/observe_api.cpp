// SPDX-License-Identifier: Apache-2.0
// What people and their tools look at, and the two orders that only an operator gives.
#include <algorithm>
#include <set>
#include <vector>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "coordinator/api/api.hpp"
#include "coordinator/common/log.hpp"

namespace aqua::coordinator {
namespace {

using ledger::Ledger;
using ledger::Time;

// Counts what live lenders that are not drained offer while a live consumer that asked last got
// nothing: a consumer of the lender's, or, where the lender is in no pair, one that could be.
std::uint64_t idle_bytes(const Ledger& ledger) {
  std::vector<const ledger::Client*> refused;
  for (const auto& [id, client] : ledger.clients()) {
    if (client.refused && client.state == ledger::ClientState::live) refused.push_back(&client);
  }
  if (refused.empty()) return 0;
  std::uint64_t bytes = 0;
  for (const auto& [id, client] : ledger.clients()) {
    if (client.state != ledger::ClientState::live || client.draining) continue;
    const ledger::ClientInfo& lender = client.info;
    const std::uint64_t offered = ledger.offered_by(id);
    if (offered == 0) continue;
    const std::set<ClientId>& users = ledger.pair_book().consumers_of(id);
    if (std::ranges::any_of(refused, [&](const ledger::Client* consumer) {
          return users.empty() ? ledger.can_share(lender, consumer->info)
                               : users.contains(consumer->info.id);
        }))
      bytes += offered;
  }
  return bytes;
}

// One pass over clients and reclaims, none over slabs: these are counted as they change.
void count(const Ledger& ledger, Gauges& gauges) {
  for (const auto& [id, client] : ledger.clients()) {
    const std::size_t role = client.info.producer && client.info.consumer ? 2
                             : client.info.consumer                       ? 1
                                                                          : 0;
    ++gauges.clients[role][static_cast<std::size_t>(client.state)];
    if (client.draining) ++gauges.draining;
  }
  for (const auto& [id, reclaim] : ledger.reclaims()) {
    if (reclaim.done) {
      gauges.overdue_slabs += reclaim.outstanding.size();
    } else {
      ++gauges.open_reclaims;
      gauges.missing_bytes +=
          reclaim.bytes_wanted - std::min(reclaim.bytes_wanted, reclaim.bytes_returned);
    }
  }
  gauges.idle_bytes = idle_bytes(ledger);
  gauges.pairs = ledger.pairs().size();
  gauges.last_event = ledger.last_event();
}

std::uint64_t bytes_of(const Ledger& ledger, const ClientId& producer) {
  std::uint64_t bytes = 0;
  for (auto row = ledger.slabs().lower_bound({producer, 0});
       row != ledger.slabs().end() && row->first.producer == producer; ++row) {
    bytes += row->second.bytes;
  }
  return bytes;
}

void count_groups(Api& api, Gauges& gauges) {
  const GroupService::Numbers numbers = api.groups.numbers();
  for (const auto& [state, count] : numbers.groups)
    gauges.groups[static_cast<std::size_t>(state)] = count;
  gauges.group_members = numbers.members;
  gauges.group_standbys = numbers.standbys;
  gauges.group_silent = numbers.silent;
  gauges.group_terms = numbers.terms;
  gauges.group_recoveries = numbers.recoveries;
  gauges.group_watches = numbers.watches;
}

}  // namespace

std::string metrics_text(Api& api) {
  Gauges gauges;
  count_groups(api, gauges);
  api.service.with([&](Ledger& ledger, Time) {
    count(ledger, gauges);
    return true;
  });
  gauges.tally = api.journal.tally();
  gauges.watches = api.service.watches();
  gauges.sessions = api.sessions.size();
  const ServerDirectory::Numbers servers = api.servers.numbers();
  gauges.servers = servers.servers;
  gauges.server_failures = servers.failures;
  gauges.servers_known = servers.known;
  gauges.ready = readiness(api).ok();
  return api.metrics.render(gauges);
}

Result<wire::SlabStory> slab_story(Api& api, const ledger::SlabId& slab) {
  auto story = api.journal.story(slab);
  if (!story) {
    return Error{Code::not_found,
                 concat("slab ", to_string(slab), ": nothing is remembered of it")};
  }
  story->epoch = api.service.epoch();
  return *std::move(story);
}

wire::History history(Api& api) {
  return {.epoch = api.service.epoch(), .samples = api.journal.samples()};
}

wire::Servers servers(Api& api) {
  wire::Servers all = api.servers.all();
  all.epoch = api.service.epoch();
  return all;
}

// Without etcd this server's engines lend and borrow as ever: it is no reason to send them away.
Result<wire::Ready> readiness(Api& api) {
  switch (api.readiness.state()) {
    case Readiness::State::ready: {
      if (const auto fault = api.service.store_fault())
        return Error{Code::unavailable, concat("not ready: ", fault->message)};
      wire::Ready ready{.epoch = api.service.epoch(), .warnings = {}};
      // Anybody may ask here; the reason names hosts.
      if (api.servers.fault())
        ready.warnings.push_back("other servers are not known as they are: aqua servers says why");
      return ready;
    }
    case Readiness::State::starting:
      return Error{Code::unavailable, "not ready: starting"};
    case Readiness::State::draining:
      break;
  }
  return Error{Code::unavailable, "not ready: stopping"};
}

Result<wire::ReclaimReply> recall(Api& api, const wire::RecallRequest& request) {
  AQUA_ASSIGN(Ledger::ReclaimStart start, api.service.with([&](Ledger& ledger, Time now) {
    return ledger.recall(request.producer, request.bytes, now + request.within, now);
  }));
  log(LogLevel::info, "recall by an operator",
      {{"producer", to_string(request.producer)},
       {"bytes", request.bytes},
       {"reclaim", start.reclaim.id}});
  return wire::ReclaimReply{api.service.epoch(), std::move(start.reclaim),
                            std::move(start.withdrawn)};
}

Result<wire::Ack> drain(Api& api, const wire::DrainRequest& request) {
  const auto order = [&](Ledger& ledger, Time now) -> Result<void> {
    const std::uint64_t lent = bytes_of(ledger, request.client);
    if (lent > 0) AQUA_TRY(ledger.recall(request.client, lent, now + request.within, now));
    return ledger.drain(request.client, true);
  };
  AQUA_TRY(api.service.with(order));
  log(LogLevel::info, "drain by an operator", {{"client", to_string(request.client)}});
  return wire::Ack{api.service.epoch()};
}

Result<wire::Ack> end_drain(Api& api, const ClientId& client) {
  AQUA_TRY(api.service.with([&](Ledger& ledger, Time) { return ledger.drain(client, false); }));
  log(LogLevel::info, "drain ended by an operator", {{"client", to_string(client)}});
  return wire::Ack{api.service.epoch()};
}

}  // namespace aqua::coordinator
