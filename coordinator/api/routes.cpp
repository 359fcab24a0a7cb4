// SPDX-License-Identifier: Apache-2.0
// Which path leads to which handler, who may call it, and how its outcome is written.
#include <charconv>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "coordinator/api/api.hpp"
#include "coordinator/api/dashboard.hpp"
#include "coordinator/api/openapi.hpp"
#include "coordinator/common/memory_reserve.hpp"
#include "coordinator/http/http_status.hpp"
#include "coordinator/http/reply.hpp"
#include "coordinator/http/request_head.hpp"
#include "tools/access/digest.hpp"
#include "wire/limits.hpp"

namespace aqua::coordinator {
namespace {

constexpr std::uint64_t kMaxWatchMs = 60'000;
constexpr std::uint64_t kDefaultWatchMs = 30'000;

Reply refuse(const Api& api, const Error& error) {
  api.metrics.refused(error.code);
  return problem(api.service.epoch(), {status_of(error.code), error});
}

// A reply that is not JSON.
struct Text {
  std::string body;
  const char* type;
};

Reply reply_of(Text text) {
  return {.type = text.type, .body = std::move(text.body)};
}

template <typename Message>
Reply reply_of(const Message& message) {
  return {.body = wire::encode(message, LedgerService::now())};
}

template <typename Message>
Reply reply_to(const Api& api, Result<Message> outcome) {
  return outcome.ok() ? reply_of(*std::move(outcome)) : refuse(api, outcome.error());
}

// work(call) -> Result<Message>
template <typename Work>
Handler answering(Api& api, Work work) {
  return [&api, work](const Call& call) { return reply_to(api, work(call)); };
}

// As answering(), with the decoded body and the session. The reply may use the reserve of memory:
// the ledger has changed.
template <typename Body, typename Reply>
Handler with_body(Api& api, Result<Reply> (*handler)(Api&, const Session&, const Body&)) {
  const auto work = [&api, handler](const Call& call) -> Result<Reply> {
    AQUA_ASSIGN(const Body body, wire::decode<Body>(call.body));
    return handler(api, *call.caller.session, body);
  };
  return [&api, work](const Call& call) {
    auto outcome = work(call);
    const MayUseReserve reserve;
    return reply_to(api, std::move(outcome));
  };
}

template <typename Reply>
Handler without_body(Api& api, Result<Reply> (*handler)(Api&, const Session&)) {
  return answering(
      api, [&api, handler](const Call& call) { return handler(api, *call.caller.session); });
}

// A decimal number; `name` is for the message.
Result<std::uint64_t> parse_number(std::string_view name, std::string_view text,
                                   std::uint64_t max) {
  std::uint64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || fault != std::errc{} || end != text.data() + text.size() || value > max) {
    return Error{Code::invalid_argument, concat(name, ": is not an integer from 0 to ", max)};
  }
  return value;
}

// What every long poll is told.
struct Poll {
  std::optional<std::uint64_t> after;
  std::chrono::milliseconds timeout{kDefaultWatchMs};
};

Result<Poll> poll_of(const Call& call) {
  Poll poll;
  if (const auto text = query_value(call.query, "after")) {
    AQUA_ASSIGN(poll.after, parse_number("after", *text, UINT64_MAX));
  }
  if (const auto text = query_value(call.query, "timeout_ms")) {
    AQUA_ASSIGN(const std::uint64_t ms, parse_number("timeout_ms", *text, kMaxWatchMs));
    poll.timeout = std::chrono::milliseconds{ms};
  }
  return poll;
}

Result<wire::WatchReply> watch(Api& api, const Call& call) {
  AQUA_ASSIGN(const Poll poll, poll_of(call));
  const Session& session = *call.caller.session;
  return api.service.watch(session.client, poll.after, poll.timeout,
                           [&] { return api.sessions.find(session.secret).has_value(); });
}

void install_clients(Router& router, Api& api) {
  const Access session = Access::session;
  router.add({"POST", "/v1/clients", session, with_body(api, join)});
  router.add({"POST", "/v1/clients/self/renew", session, without_body(api, renew), Lane::vital});
  router.add({"GET", "/v1/clients/self", session, without_body(api, snapshot)});
  router.add({"DELETE", "/v1/clients/self", session, without_body(api, leave)});
  router.add({"GET", "/v1/watch", session,
              answering(api, [&api](const Call& call) { return watch(api, call); }), Lane::watch});
}

void install_slabs(Router& router, Api& api) {
  const Access session = Access::session;
  router.add({"POST", "/v1/offers", session, with_body(api, offer)});
  router.add({"POST", "/v1/offers/withdraw", session, with_body(api, withdraw)});
  router.add({"POST", "/v1/offers/scrubbed", session, with_body(api, scrubbed)});
  router.add({"POST", "/v1/reclaims", session, once(api, with_body(api, reclaim))});
  router.add({"GET", "/v1/reclaims/{id}", session,
              answering(api, [&api](const Call& call) -> Result<wire::ReclaimReply> {
                AQUA_ASSIGN(const std::uint64_t id,
                            parse_number("reclaim", call.parameters[0], UINT64_MAX));
                return reclaim_status(api, *call.caller.session, id);
              })});
  router.add({"POST", "/v1/leases", session, once(api, with_body(api, lease))});
  router.add({"POST", "/v1/leases/return", session, with_body(api, give_back)});
}

// work(api, group, call), of the group that the path names.
template <typename Work>
Handler of_group(Api& api, Work work) {
  return answering(api, [&api, work](const Call& call) -> decltype(work(api, {}, call)) {
    AQUA_ASSIGN(const groups::GroupId id, parse_id<groups::GroupTag>(call.parameters[0]));
    return work(api, id, call);
  });
}

// With the decoded body and the session as well.
template <typename Body, typename Reply>
Handler of_group_with_body(Api& api,
                           Result<Reply> (*handler)(Api&, const Session&, const groups::GroupId&,
                                                    const Body&)) {
  return of_group(api,
                  [handler](Api& to, const groups::GroupId& id, const Call& call) -> Result<Reply> {
                    AQUA_ASSIGN(const Body body, wire::decode<Body>(call.body));
                    return handler(to, *call.caller.session, id, body);
                  });
}

template <typename Reply>
Handler of_group_without_body(Api& api, Result<Reply> (*handler)(Api&, const Session&,
                                                                 const groups::GroupId&)) {
  return of_group(api, [handler](Api& to, const groups::GroupId& id, const Call& call) {
    return handler(to, *call.caller.session, id);
  });
}

void install_groups(Router& router, Api& api) {
  const Access session = Access::session;
  router.add({"POST", "/v1/groups", session, with_body(api, create_group)});
  router.add({"GET", "/v1/groups", Access::reader,
              answering(api, [&api](const Call&) { return Result(all_groups(api)); })});
  router.add({"GET", "/v1/groups/{group}", Access::reader,
              of_group(api, [](Api& to, const groups::GroupId& id, const Call&) {
                return group(to, id);
              })});
  router.add({"DELETE", "/v1/groups/{group}", Access::operators,
              of_group(api, [](Api& to, const groups::GroupId& id, const Call&) {
                return end_group(to, id);
              })});
  router.add({"POST", "/v1/groups/{group}/join", session, of_group_with_body(api, join_group)});
  router.add(
      {"POST", "/v1/groups/{group}/leave", session, of_group_without_body(api, leave_group)});
  router.add(
      {"POST", "/v1/groups/{group}/close", session, of_group_without_body(api, close_group)});
  router.add({"POST", "/v1/groups/{group}/acknowledge", session,
              of_group_with_body(api, acknowledge_group)});
  router.add(
      {"POST", "/v1/groups/{group}/resumed", session, of_group_with_body(api, group_resumed)});
  router.add({"GET", "/v1/groups/{group}/watch", session,
              of_group(api,
                       [](Api& to, const groups::GroupId& id,
                          const Call& call) -> Result<wire::GroupReply> {
                         AQUA_ASSIGN(const Poll poll, poll_of(call));
                         return watch_group(to, *call.caller.session, id, poll.after, poll.timeout);
                       }),
              Lane::watch});
}

void install_operators(Router& router, Api& api) {
  router.add({"GET", "/v1/info", Access::reader,
              answering(api, [&api](const Call&) { return Result(info(api)); })});
  router.add({"GET", "/v1/state", Access::reader,
              [&api](const Call&) { return Reply{.shared = state_text(api)}; }});
  router.add({"GET", "/v1/pairs", Access::reader,
              answering(api, [&api](const Call&) { return Result(pairs(api)); })});
  router.add({"PUT", "/v1/pairs", Access::operators,
              answering(api, [&api](const Call& call) -> Result<wire::Ack> {
                AQUA_ASSIGN(const wire::PairRequest body,
                            wire::decode<wire::PairRequest>(call.body));
                return pair(api, body);
              })});
  router.add({"DELETE", "/v1/pairs/{consumer}", Access::operators,
              answering(api, [&api](const Call& call) -> Result<wire::Ack> {
                AQUA_ASSIGN(const ClientId consumer, parse_id<ClientTag>(call.parameters[0]));
                return unpair(api, consumer);
              })});
  router.add({"GET", "/openapi.json", Access::reader,
              [](const Call&) { return Reply{.body = std::string(openapi_document())}; }});
}

void install_observation(Router& router, Api& api) {
  router.add(
      {"GET", "/healthz", Access::anybody,
       answering(api, [&api](const Call&) { return Result(wire::Ack{api.service.epoch()}); }),
       Lane::probe});
  router.add({"GET", "/readyz", Access::anybody,
              answering(api, [&api](const Call&) { return readiness(api); }), Lane::probe});
  router.add({"GET", "/metrics", Access::reader, answering(api, [&api](const Call&) {
                return Result(Text{metrics_text(api), kMetricsType});
              })});
  router.add({"GET", "/v1/servers", Access::reader,
              answering(api, [&api](const Call&) { return Result(servers(api)); })});
  router.add({"GET", "/v1/history", Access::reader,
              answering(api, [&api](const Call&) { return Result(history(api)); })});
  router.add({"GET", "/v1/slabs/{producer}/{index}/events", Access::reader,
              answering(api, [&api](const Call& call) -> Result<wire::SlabStory> {
                AQUA_ASSIGN(const ClientId producer, parse_id<ClientTag>(call.parameters[0]));
                AQUA_ASSIGN(const std::uint64_t index,
                            parse_number("index", call.parameters[1], UINT32_MAX));
                return slab_story(api, {producer, static_cast<std::uint32_t>(index)});
              })});
}

void install_orders(Router& router, Api& api) {
  router.add({"POST", "/v1/recalls", Access::operators,
              answering(api, [&api](const Call& call) -> Result<wire::ReclaimReply> {
                AQUA_ASSIGN(const auto body, wire::decode<wire::RecallRequest>(call.body));
                return recall(api, body);
              })});
  router.add({"POST", "/v1/drains", Access::operators,
              answering(api, [&api](const Call& call) -> Result<wire::Ack> {
                AQUA_ASSIGN(const auto body, wire::decode<wire::DrainRequest>(call.body));
                return drain(api, body);
              })});
  router.add({"DELETE", "/v1/drains/{client}", Access::operators,
              answering(api, [&api](const Call& call) -> Result<wire::Ack> {
                AQUA_ASSIGN(const ClientId client, parse_id<ClientTag>(call.parameters[0]));
                return end_drain(api, client);
              })});
}

}  // namespace

Handler once(Api& api, Handler once_only) {
  return [&api, handler = std::move(once_only)](const Call& call) -> Reply {
    if (call.idempotency_key.empty()) return handler(call);
    const ClientId client = call.caller.session->client;
    const std::string key(call.idempotency_key);
    const Digest asked = digest_of(concat(call.path, "\n", call.body));
    auto former = api.replays.begin(client, key, asked);
    if (!former.ok()) return refuse(api, former.error());
    if (former->has_value())
      return {.body = **std::move(former), .headers = "Idempotency-Replayed: true\r\n"};
    // What is thrown may come after the change.
    const auto finish_without_reply = [&] {
      const MayUseReserve reserve;
      api.replays.finish(client, key, asked, std::nullopt);
      return refuse(api, ReplayBook::reply_lost(key));
    };
    try {
      Reply reply = handler(call);
      const MayUseReserve reserve;
      if (reply.status == 200) {
        api.replays.finish(client, key, asked, reply.body);
      } else {
        api.replays.abandon(client, key);
      }
      return reply;
    } catch (const std::bad_alloc&) {
      return finish_without_reply();
    } catch (...) {
      (void)finish_without_reply();
      throw;
    }
  };
}

void install_api(Router& router, Api& api) {
  install_clients(router, api);
  install_slabs(router, api);
  install_groups(router, api);
  install_operators(router, api);
  install_observation(router, api);
  install_orders(router, api);
  install_dashboard(router);
  for (const Route& route : router.routes()) api.metrics.add_route(route.path);
  api.metrics.add_route(kOtherPath);
}

}  // namespace aqua::coordinator
