// SPDX-License-Identifier: Apache-2.0
#include "southbound/watcher.hpp"

#include <algorithm>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "southbound/backoff.hpp"

namespace aqua::southbound {

Watcher::Watcher(Link& link, Listener& listener)
    : link_(link), listener_(listener), thread_([this] { run(); }) {}

Watcher::~Watcher() {
  thread_.join();
}

void Watcher::run() {
  std::uint64_t number = 0;
  while (auto news = link_.wait_news(number)) {
    if (const auto* failure = std::get_if<Error>(&*news)) {
      listener_.on_unreachable(*failure);
      continue;
    }
    auto* active = std::get_if<Active>(&*news);
    number = active->session.number;
    active->session.new_epoch = active->session.epoch != last_epoch_;
    last_epoch_ = active->session.epoch;
    listener_.on_connected(active->session);
    link_.announced(number);
    follow(*active);
    if (link_.closing()) return;
    listener_.on_disconnected(link_.last_reason());
  }
}

void Watcher::follow(const Active& active) {
  Backoff backoff(link_.options.backoff_min, link_.options.backoff_max);
  std::optional<std::uint64_t> after;
  while (link_.is_current(active.session.number)) {
    // A wish raises the interrupt, so the poll it cuts short is repeated without `after`.
    if (link_.take_snapshot_wish()) after.reset();
    // What raised it may also have been the end, between the check above and the taking.
    if (!link_.is_current(active.session.number)) return;
    auto reply = poll_once(active, after);
    if (reply.ok()) {
      backoff.reset();
      after = deliver(*std::move(reply), after);
    } else if (reply.error().code != Code::cancelled && !link_.pause(backoff.next())) {
      return;
    }
  }
}

Result<wire::WatchReply> Watcher::poll_once(const Active& active,
                                            std::optional<std::uint64_t> after) {
  const auto timeout = link_.options.watch_timeout;
  std::string target = concat("/v1/watch?timeout_ms=", timeout.count());
  if (after) target += concat("&after=", *after);
  const HttpRequest request{"GET", std::move(target), active.secret, {}};
  const auto deadline = Clock::now() + timeout + link_.options.call_timeout;
  AQUA_ASSIGN(const std::string text,
              link_.read(http_call(link_.address, request, deadline, &link_.watch_ends),
                         active.session.number));
  AQUA_ASSIGN(wire::WatchReply reply, Link::decoded<wire::WatchReply>(text));
  if (reply.epoch != active.session.epoch) {
    const Error error{Code::unavailable,
                      concat("watch: epoch ", to_string(reply.epoch), " is not the session's ",
                             to_string(active.session.epoch))};
    link_.give_up(active.session.number, error);
    return error;
  }
  return reply;
}

std::uint64_t Watcher::deliver(wire::WatchReply reply, std::optional<std::uint64_t> after) {
  if (reply.snapshot) {
    listener_.on_snapshot(*reply.snapshot);
    return reply.snapshot->last_event;
  }
  std::uint64_t last = after.value_or(0);
  std::erase_if(reply.events, [&](const ledger::Event& event) {
    const bool seen = event.number <= last;
    last = std::max(last, event.number);
    return seen;
  });
  if (!reply.events.empty()) listener_.on_events(reply.events);
  return std::max(last, reply.last_event);
}

}  // namespace aqua::southbound
