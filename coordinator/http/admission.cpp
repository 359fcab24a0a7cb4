// SPDX-License-Identifier: Apache-2.0
#include "coordinator/http/admission.hpp"

#include <charconv>
#include <string>
#include <string_view>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "coordinator/http/http_status.hpp"
#include "coordinator/http/origin.hpp"
#include "coordinator/http/replay_book.hpp"

namespace aqua::coordinator {
namespace {

bool is_json(std::string_view content_type) {
  return content_type == "application/json" || content_type.starts_with("application/json;");
}

Refusal unauthenticated(std::string message) {
  return {kUnauthenticated, Error{Code::permission_denied, std::move(message)},
          "WWW-Authenticate: Bearer realm=\"aqua-coordinator\"\r\n"};
}

Refusal forbidden(std::string message) {
  return {403, Error{Code::permission_denied, std::move(message)}};
}

Role least_role(Access access) {
  switch (access) {
    case Access::anybody:
      return Role::none;
    case Access::reader:
      return Role::read_only;
    case Access::session:
      return Role::engine;
    case Access::operators:
      return Role::operator_;
  }
  return Role::operator_;
}

bool takes_body(const Route& route) {
  return route.lane != Lane::vital && route.lane != Lane::probe &&
         (route.method == "POST" || route.method == "PUT");
}

}  // namespace

std::optional<Refusal> refusal_of(const RequestHead& head, std::size_t max_body,
                                  std::size_t& length) {
  length = 0;
  if (head.count("transfer-encoding") > 0)
    return refuse(411, "Transfer-Encoding is not accepted; send Content-Length");
  if (head.count("content-encoding") > 0) return refuse(415, "Content-Encoding is not accepted");
  if (head.count("range") > 0) return refuse(400, "Range is not accepted");
  for (const char* once : {"content-length", "authorization", "aqua-session", "idempotency-key"}) {
    if (head.count(once) > 1) return refuse(400, concat(once, " is given twice"));
  }
  if (head.count("content-length") == 0) {
    if (head.method == "POST" || head.method == "PUT")
      return refuse(411, "Content-Length is missing");
    return std::nullopt;
  }
  const std::string_view text = head.value("content-length");
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (text.empty() || end != text.data() + text.size() || fault == std::errc::invalid_argument)
    return refuse(400, "Content-Length is not a number");
  if (fault == std::errc::result_out_of_range || length > max_body)
    return refuse(413, concat("the body is longer than ", max_body, " bytes"));
  // Also keeps web pages out: they cannot send this type to another origin unasked.
  if (length > 0 && !is_json(head.value("content-type")))
    return refuse(415, "Content-Type must be application/json");
  return std::nullopt;
}

std::optional<Refusal> Admission::find_session(const RequestHead& head, const Peer& peer,
                                               Caller& caller) const {
  const auto secret = parse_id<SessionTag>(head.value("aqua-session"));
  const auto session = secret.ok() ? sessions_.find(*secret) : std::nullopt;
  // A secret that another user has come by is worth nothing here.
  if (!session || (peer.local && session->uid != peer.uid))
    return unauthenticated("no session has this secret; connect a lifeline");
  caller.session = session;
  caller.name = concat("client ", to_string(session->client));
  caller.process = concat("process ", session->pid);
  caller.user = concat("user ", session->uid);
  return std::nullopt;
}

std::variant<Caller, Refusal> Admission::identify(const RequestHead& head, const Peer& peer) {
  Caller caller;
  caller.role = peer.role;
  if (peer.local) caller.user = concat("user ", peer.uid);
  caller.name = peer.local ? caller.user : std::string("a stranger");
  if (head.count("authorization") == 0) {
    // A page asks in the name of whoever opened it: it may look, and give no orders.
    if (is_of_a_page(head) && caller.role > Role::read_only) {
      caller.role = Role::read_only;
      caller.name = concat("a page without a token, opened by ", caller.name, ",");
    }
    return caller;
  }
  constexpr std::string_view kBearer = "Bearer ";
  const std::string_view header = head.value("authorization");
  auto found = tokens_.find(header.starts_with(kBearer) ? header.substr(kBearer.size()) : "");
  if (!found.ok()) return Refusal{503, std::move(found).error(), "Retry-After: 1\r\n"};
  const std::optional<Token>& token = *found;
  if (!token) return unauthenticated("this token is not known; an operator may issue one");
  caller.role = token->role;
  caller.name = concat("token ", token->id());
  return caller;
}

std::variant<Admitted, Refusal> Admission::decide(const RequestHead& head, const Peer& peer) {
  std::size_t length = 0;
  if (auto refusal = refusal_of(head, limits_.body_bytes, length)) return *std::move(refusal);
  const std::string_view key = head.value("idempotency-key");
  if (head.count("idempotency-key") > 0 && !is_idempotency_key(key)) {
    return Refusal{
        400, Error{Code::invalid_argument, "Idempotency-Key: 1 to 64 letters, digits, '-' or '_'"}};
  }
  Router::Match match = router_.match(head.method, head.path);
  const bool may_be_linked = match.route != nullptr && match.route->access == Access::anybody;
  if (auto refusal = refusal_of_origin(head, {.any_host = peer.by_tls, .proxy = limits_.proxy_host},
                                       may_be_linked)) {
    return *std::move(refusal);
  }
  auto identified = identify(head, peer);
  if (auto* refusal = std::get_if<Refusal>(&identified)) return std::move(*refusal);
  Caller& caller = std::get<Caller>(identified);

  // Whoever has proven nothing does not learn which paths there are.
  const Role least = match.route != nullptr ? least_role(match.route->access) : Role::read_only;
  if (caller.role < least && caller.role == Role::none)
    return unauthenticated("a bearer token is needed here; an operator may issue one");
  if (match.route == nullptr && match.allowed.empty())
    return Refusal{404, Error{Code::not_found, "no such path; see /openapi.json"}};
  if (match.route == nullptr) {
    return Refusal{405, Error{Code::invalid_argument, concat("this path knows ", match.allowed)},
                   concat("Allow: ", match.allowed, "\r\n")};
  }
  if (caller.role < least) {
    return forbidden(
        concat(caller.name, " is ", to_string(caller.role), "; this wants ", to_string(least)));
  }
  if (match.route->access == Access::session) {
    if (auto refusal = find_session(head, peer, caller)) return *std::move(refusal);
  }
  // Decided here, where a body that never comes would hold a thread.
  if (length > 0 && !takes_body(*match.route)) return refuse(413, "this request takes no body");
  auto passes = enter(*match.route, caller);
  if (!passes.ok()) return Refusal{429, std::move(passes).error(), "Retry-After: 1\r\n"};
  return Admitted{match.route, std::move(match.parameters), std::string(key),
                  length,      std::move(caller),           std::move(passes).value()};
}

Result<std::vector<Quota::Pass>> Admission::enter(const Route& route, const Caller& caller) {
  const auto now = std::chrono::steady_clock::now();
  std::vector<Quota::Pass> passes;
  const auto pass = [&](Quota& quota, const std::string& name) -> Result<void> {
    if (name.empty()) return {};
    auto entered = quota.enter(name, now);
    if (!entered.ok()) return std::move(entered).error();
    passes.push_back(*std::move(entered));
    return {};
  };
  // A health check is cheap, and one stranger must not use up another's.
  if (route.lane == Lane::probe) return passes;
  if (route.lane == Lane::vital) {
    AQUA_TRY(pass(vital_, caller.name));
    return passes;
  }
  AQUA_TRY(pass(callers_, caller.name));
  const bool watch = route.lane == Lane::watch;
  AQUA_TRY(pass(watch ? watches_of_processes_ : processes_, caller.process));
  AQUA_TRY(pass(watch ? watches_of_users_ : users_, caller.user));
  return passes;
}

}  // namespace aqua::coordinator
