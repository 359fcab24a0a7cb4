// SPDX-License-Identifier: Apache-2.0
#include "southbound/keeper.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/step.hpp"
#include "base/try.hpp"
#include "southbound/backoff.hpp"
#include "wire/clients.hpp"

namespace aqua::southbound {
namespace {

constexpr std::chrono::seconds kLeavePatience{1};
// After a renewal that did not arrive there is still time for some more before the ttl.
constexpr int kRenewalsPerTtl = 3;
constexpr int kRetriesPerTtl = 12;

// False at the end of file.
bool still_open(int lifeline) {
  std::array<char, 256> ignored{};
  const ssize_t n = ::recv(lifeline, ignored.data(), ignored.size(), MSG_DONTWAIT);
  return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

}  // namespace

Keeper::Keeper(Link& link) : link_(link), thread_([this] { run(); }) {}

Keeper::~Keeper() {
  thread_.join();
}

void Keeper::run() {
  Backoff backoff(link_.options.backoff_min, link_.options.backoff_max);
  while (!link_.closing()) {
    auto kept = begin();
    if (!kept.ok()) {
      link_.failed(kept.error());
      if (!link_.pause(backoff.next())) return;
      continue;
    }
    const auto since = Clock::now();
    link_.begin(kept->active);
    const Error reason = keep(*kept);
    if (link_.closing()) return leave(kept->active);
    link_.end(reason);
    // One that breaks at once counts as one more failed attempt.
    if (Clock::now() - since > link_.options.backoff_max) backoff.reset();
    if (!link_.pause(backoff.next())) return;
  }
}

Result<Keeper::Kept> Keeper::begin() {
  const auto deadline = Clock::now() + link_.options.call_timeout;
  const auto ask = [&](const HttpRequest& request) {
    return link_.read(http_call(link_.address, request, deadline, &link_.calls_end), 0);
  };
  AQUA_ASSIGN(const std::string info_text, ask({"GET", "/v1/info", {}, {}}));
  AQUA_ASSIGN(const wire::Info info, Link::decoded<wire::Info>(info_text));
  Kept kept;
  AQUA_ASSIGN(kept.lifeline, connect_lifeline(info.lifeline, link_.options.info.id,
                                              link_.options.call_timeout, link_.calls_end));
  const wire::Welcome& welcome = kept.lifeline.welcome;

  wire::JoinRequest join{link_.options.info};
  if (join.info.server.empty()) join.info.server = welcome.server;
  step(joined_ == 0 ? "register" : "reconnect");
  AQUA_ASSIGN(const std::string joined_text,
              ask({"POST", "/v1/clients", welcome.secret, wire::encode(join)}));
  AQUA_ASSIGN(const wire::RenewReply joined, Link::decoded<wire::RenewReply>(joined_text));
  kept.active.secret = welcome.secret;
  kept.active.session = {.epoch = welcome.epoch,
                         .server = welcome.server,
                         .client_ttl = joined.client_ttl,
                         .lease_ttl = joined.lease_ttl,
                         .number = ++joined_,
                         .new_epoch = true};  // Watcher knows better
  return kept;
}

Error Keeper::keep(const Kept& kept) {
  const Session& session = kept.active.session;
  const auto ttl =
      std::max(std::min(session.client_ttl, session.lease_ttl), ledger::Time{kRetriesPerTtl});
  auto next_renewal = Clock::now() + ttl / kRenewalsPerTtl;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_renewal - Clock::now());
    pollfd fds[] = {{kept.lifeline.fd.get(), POLLIN, 0}, {link_.keeper_wakes.fd(), POLLIN, 0}};
    ::poll(fds, 2, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (fds[1].revents != 0) {
      link_.keeper_wakes.clear();
      if (link_.closing()) return Error{Code::cancelled, "the client is closed"};
      if (auto reason = link_.given_up()) return *std::move(reason);
    }
    if (fds[0].revents != 0 && !still_open(kept.lifeline.fd.get())) {
      return Error{Code::unavailable, "the coordinator closed the lifeline"};
    }
    if (Clock::now() < next_renewal) continue;
    const auto renewed = renew(kept.active);
    // Away for a moment is no reason to give a session up: the lifeline decides that.
    if (!renewed.ok() && renewed.error().code != Code::unavailable) return renewed.error();
    next_renewal = Clock::now() + ttl / (renewed.ok() ? kRenewalsPerTtl : kRetriesPerTtl);
  }
}

Result<void> Keeper::renew(const Active& active) {
  const HttpRequest request{"POST", "/v1/clients/self/renew", active.secret, {}};
  const auto deadline = Clock::now() + std::min<std::chrono::milliseconds>(
                                           link_.options.call_timeout, active.session.client_ttl);
  AQUA_TRY(link_.read(http_call(link_.address, request, deadline, &link_.calls_end),
                      active.session.number));
  return {};
}

void Keeper::leave(const Active& active) {
  // Refused while something is held; then the closing lifeline makes this client a suspect.
  const auto patience = link_.answers() ? kLeavePatience : std::chrono::seconds{0};
  (void)http_call(link_.address, {"DELETE", "/v1/clients/self", active.secret, {}},
                  Clock::now() + patience, nullptr);
}

}  // namespace aqua::southbound
