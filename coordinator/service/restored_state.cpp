// SPDX-License-Identifier: Apache-2.0
#include "coordinator/service/restored_state.hpp"

#include <spdlog/spdlog.h>

#include "base/try.hpp"

namespace aqua::coordinator {

Result<RestoredState> restore(Store& store, const Host& host, const ledger::Limits& limits,
                              ledger::Time now) {
  AQUA_ASSIGN(Stored stored, store.load());
  AQUA_ASSIGN(ledger::Ledger ledger, ledger::Ledger::restore(limits, stored.image, now));
  AQUA_ASSIGN(groups::Book groups, groups::Book::restore({}, stored.groups));
  RestoredState restored{std::move(ledger), std::move(groups), {}};
  std::size_t dead = 0;
  for (const auto& [client, draining] : stored.image.clients) {
    if (client.started == 0 || stored.namespaces != host.namespaces) continue;
    auto process = PeerProcess::of_pid(client.pid, client.started);
    if (process.ok()) {
      restored.processes.emplace(client.id, *std::move(process));
    } else if (process.error().code == Code::not_found) {
      AQUA_TRY(restored.ledger.dead(client.id, now));
      ++dead;
    } else {
      spdlog::warn("client {}: {}", to_string(client.id), process.error().message);
    }
  }
  for (const ClientId& client : restored.groups.clients()) {
    if (!restored.ledger.clients().contains(client)) restored.groups.gone(client);
  }
  spdlog::info(
      "store: revision {}: {} clients ({} have died meanwhile), {} slabs, {} reclaims, {} pairs, "
      "{} groups; {} rows of other boots dropped",
      stored.revision, stored.image.clients.size(), dead, stored.image.slabs.size(),
      stored.image.reclaims.size(), stored.image.pairs.size(), stored.groups.size(),
      stored.former_rows);
  return restored;
}

}  // namespace aqua::coordinator
