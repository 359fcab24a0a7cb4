// SPDX-License-Identifier: Apache-2.0
#include "base/concat.hpp"
#include "base/step.hpp"
#include "base/try.hpp"
#include "coordinator/api/api.hpp"
#include "coordinator/common/log.hpp"
#include "coordinator/service/snapshot.hpp"

namespace aqua::coordinator {
namespace {

wire::RenewReply alive(Api& api) {
  const ledger::Limits& limits = api.service.limits();
  return {
      .epoch = api.service.epoch(), .client_ttl = limits.client_ttl, .lease_ttl = limits.lease_ttl};
}

}  // namespace

Result<wire::RenewReply> join(Api& api, const Session& caller, const wire::JoinRequest& request) {
  if (request.info.id != caller.client) {
    return Error{Code::permission_denied,
                 concat("join: the session is client ", to_string(caller.client), "'s, not ",
                        to_string(request.info.id), "'s")};
  }
  ledger::ClientInfo info = request.info;
  info.pid = caller.pid;
  info.started = caller.started;
  info.uid = caller.uid;
  bool known = false;
  AQUA_TRY(api.service.with([&](ledger::Ledger& ledger, ledger::Time now) -> Result<void> {
    // Looked for again while nothing can happen: a client that joined after its lifeline
    // closed would have nobody to notice its death (see LifelineServer::lifeline_closed).
    if (!api.sessions.find(caller.secret))
      return Error{Code::permission_denied, "join: the session is over"};
    const auto before = ledger.clients().find(info.id);
    known = before != ledger.clients().end() && !before->second.restored;
    return ledger.join(info, now);
  }));
  step(known ? "reconnect" : "register");
  (void)api.groups.changed(caller.client);
  log(LogLevel::info, known ? "client joined again" : "client joined",
      {{"client", to_string(info.id)},
       {"name", info.name},
       {"device", info.device_name},
       {"pid", static_cast<std::uint64_t>(info.pid)}});
  return alive(api);
}

Result<wire::RenewReply> renew(Api& api, const Session& caller) {
  AQUA_TRY(api.service.with(
      [&](ledger::Ledger& ledger, ledger::Time now) { return ledger.renew(caller.client, now); }));
  (void)api.groups.changed(caller.client);
  return alive(api);
}

Result<wire::Ack> leave(Api& api, const Session& caller) {
  AQUA_TRY(api.service.with(
      [&](ledger::Ledger& ledger, ledger::Time now) { return ledger.leave(caller.client, now); }));
  api.groups.gone(caller.client);
  log(LogLevel::info, "client left", {{"client", to_string(caller.client)}});
  return wire::Ack{api.service.epoch()};
}

Result<wire::Snapshot> snapshot(Api& api, const Session& caller) {
  return api.service.with([&](ledger::Ledger& ledger, ledger::Time) {
    return snapshot_of(ledger, caller.client, api.service.epoch());
  });
}

}  // namespace aqua::coordinator
