// Which path leads to which handler, who may call it, and how its outcome is written.
#include <spdlog/spdlog.h>

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "coordinator/admission.hpp"
#include "coordinator/api.hpp"
#include "coordinator/dashboard.hpp"
#include "coordinator/http_status.hpp"
#include "wire/error.hpp"
#include "wire/limits.hpp"

namespace aqua::coordinator {
namespace {

using httplib::Request;
using httplib::Response;

constexpr const char* kJson = "application/json";
constexpr std::uint64_t kMaxWatchMs = 60'000;
constexpr std::uint64_t kDefaultWatchMs = 30'000;

void write_error(Response& response, const Api& api, const Error& error, int status) {
  api.metrics.refused(error.code);
  response.status = status;
  response.set_content(wire::encode(wire::ErrorReply{.epoch = api.service.epoch(), .error = error}),
                       kJson);
}

// A reply that is not JSON.
struct Text {
  std::string body;
  const char* type;
};

void write(Response& response, const Api& api, const Result<Text>& outcome) {
  if (!outcome.ok())
    return write_error(response, api, outcome.error(), status_of(outcome.error().code));
  response.status = 200;
  response.set_content(outcome->body, outcome->type);
}

template <typename Reply>
void write(Response& response, const Api& api, const Result<Reply>& outcome) {
  if (!outcome.ok())
    return write_error(response, api, outcome.error(), status_of(outcome.error().code));
  response.status = 200;
  response.set_content(wire::encode(*outcome, LedgerService::now()), kJson);
}

std::optional<Session> session_of(const Api& api, const Request& request) {
  constexpr std::string_view kBearer = "Bearer ";
  const std::string header = request.get_header_value("Authorization");
  if (!std::string_view(header).starts_with(kBearer)) return std::nullopt;
  const auto secret = parse_id<SessionTag>(std::string_view(header).substr(kBearer.size()));
  if (!secret.ok()) return std::nullopt;
  return api.sessions.find(*secret);
}

// handler(caller, request) -> Result<Reply>, for callers with a session only.
template <typename Handler>
httplib::Server::Handler for_clients(Api& api, Handler handler) {
  return [&api, handler](const Request& request, Response& response) {
    const auto caller = session_of(api, request);
    if (!caller) {
      return write_error(
          response, api,
          Error{Code::permission_denied, "no session has this secret; connect a lifeline"},
          kUnauthenticated);
    }
    write(response, api, handler(*caller, request));
  };
}

// handler(request) -> Result<Reply>, for whoever may operate this coordinator.
template <typename Handler>
httplib::Server::Handler for_operators(Api& api, Handler handler) {
  if (api.operators_need_session) {
    return for_clients(
        api, [handler](const Session&, const Request& request) { return handler(request); });
  }
  return [&api, handler](const Request& request, Response& response) {
    write(response, api, handler(request));
  };
}

// As for_clients(), with the decoded body.
template <typename Body, typename Reply>
httplib::Server::Handler with_body(Api& api,
                                   Result<Reply> (*handler)(Api&, const Session&, const Body&)) {
  return for_clients(
      api, [&api, handler](const Session& caller, const Request& request) -> Result<Reply> {
        AQUA_ASSIGN(const Body body, wire::decode<Body>(request.body));
        return handler(api, caller, body);
      });
}

template <typename Reply>
httplib::Server::Handler without_body(Api& api, Result<Reply> (*handler)(Api&, const Session&)) {
  return for_clients(
      api, [&api, handler](const Session& caller, const Request&) { return handler(api, caller); });
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

Result<wire::WatchReply> watch(Api& api, const Session& caller, const Request& request) {
  std::optional<std::uint64_t> after;
  if (request.has_param("after")) {
    AQUA_ASSIGN(after, parse_number("after", request.get_param_value("after"), UINT64_MAX));
  }
  std::uint64_t timeout_ms = kDefaultWatchMs;
  if (request.has_param("timeout_ms")) {
    AQUA_ASSIGN(timeout_ms,
                parse_number("timeout_ms", request.get_param_value("timeout_ms"), kMaxWatchMs));
  }
  return api.service.watch(caller.client, after, std::chrono::milliseconds{timeout_ms});
}

void install_clients(httplib::Server& server, Api& api) {
  server.Post("/v1/clients", with_body(api, join));
  server.Post("/v1/clients/self/renew", without_body(api, renew));
  server.Get("/v1/clients/self", without_body(api, snapshot));
  server.Delete("/v1/clients/self", without_body(api, leave));
  server.Get("/v1/watch", for_clients(api, [&api](const Session& caller, const Request& request) {
               return watch(api, caller, request);
             }));
}

void install_slabs(httplib::Server& server, Api& api) {
  server.Post("/v1/offers", with_body(api, offer));
  server.Post("/v1/offers/withdraw", with_body(api, withdraw));
  server.Post("/v1/offers/scrubbed", with_body(api, scrubbed));
  server.Post("/v1/reclaims", with_body(api, reclaim));
  server.Get(
      R"(/v1/reclaims/([0-9]+))",
      for_clients(
          api, [&api](const Session& caller, const Request& request) -> Result<wire::ReclaimReply> {
            AQUA_ASSIGN(const std::uint64_t id,
                        parse_number("reclaim", request.matches[1].str(), UINT64_MAX));
            return reclaim_status(api, caller, id);
          }));
  server.Post("/v1/leases", with_body(api, lease));
  server.Post("/v1/leases/return", with_body(api, give_back));
}

void install_operators(httplib::Server& server, Api& api) {
  server.Get("/v1/info", [&api](const Request&, Response& response) {
    write(response, api, Result(info(api)));
  });
  server.Get("/v1/state",
             for_operators(api, [&api](const Request&) { return Result(state(api)); }));
  server.Get("/v1/pairs",
             for_operators(api, [&api](const Request&) { return Result(pairs(api)); }));
  server.Put("/v1/pairs", for_operators(api, [&api](const Request& request) -> Result<wire::Ack> {
               AQUA_ASSIGN(const wire::PairRequest body,
                           wire::decode<wire::PairRequest>(request.body));
               return pair(api, body);
             }));
  server.Delete(R"(/v1/pairs/([0-9a-fA-F]+))",
                for_operators(api, [&api](const Request& request) -> Result<wire::Ack> {
                  AQUA_ASSIGN(const ClientId consumer,
                              parse_id<ClientTag>(request.matches[1].str()));
                  return unpair(api, consumer);
                }));
}

void install_observation(httplib::Server& server, Api& api) {
  server.Get("/healthz", [&api](const Request&, Response& response) {
    write(response, api, Result(wire::Ack{api.service.epoch()}));
  });
  server.Get("/readyz",
             [&api](const Request&, Response& response) { write(response, api, readiness(api)); });
  server.Get("/metrics", for_operators(api, [&api](const Request&) -> Result<Text> {
               return Text{metrics_text(api), kMetricsType};
             }));
  server.Get("/v1/history",
             for_operators(api, [&api](const Request&) { return Result(history(api)); }));
  server.Get(R"(/v1/slabs/([0-9a-fA-F]+)/([0-9]+)/events)",
             for_operators(api, [&api](const Request& request) -> Result<wire::SlabStory> {
               AQUA_ASSIGN(const ClientId producer, parse_id<ClientTag>(request.matches[1].str()));
               AQUA_ASSIGN(const std::uint64_t index,
                           parse_number("index", request.matches[2].str(), UINT32_MAX));
               return slab_story(api, {producer, static_cast<std::uint32_t>(index)});
             }));
}

void install_orders(httplib::Server& server, Api& api) {
  server.Post("/v1/recalls",
              for_operators(api, [&api](const Request& request) -> Result<wire::ReclaimReply> {
                AQUA_ASSIGN(const auto body, wire::decode<wire::RecallRequest>(request.body));
                return recall(api, body);
              }));
  server.Post("/v1/drains", for_operators(api, [&api](const Request& request) -> Result<wire::Ack> {
                AQUA_ASSIGN(const auto body, wire::decode<wire::DrainRequest>(request.body));
                return drain(api, body);
              }));
  server.Delete(R"(/v1/drains/([0-9a-fA-F]+))",
                for_operators(api, [&api](const Request& request) -> Result<wire::Ack> {
                  AQUA_ASSIGN(const ClientId client, parse_id<ClientTag>(request.matches[1].str()));
                  return end_drain(api, client);
                }));
}

}  // namespace

void install_api(httplib::Server& server, Api& api) {
  server.set_payload_max_length(wire::kMaxRequestBytes);
  server.set_pre_routing_handler([&api](const Request& request, Response& response) {
    api.observer.began(request);
    const auto refusal = refusal_of(request);
    if (!refusal) return httplib::Server::HandlerResponse::Unhandled;
    write_error(response, api, refusal->error, refusal->status);
    return httplib::Server::HandlerResponse::Handled;
  });
  server.set_logger([&api](const Request& request, const Response& response) {
    api.observer.ended(request, response);
  });
  // What the library itself refuses: no such path, or a request it cannot read.
  server.set_error_handler([&api](const Request&, Response& response) {
    if (!response.body.empty()) return;
    const int status = response.status;
    const Error error = status == 404 ? Error{Code::not_found, "no such path"}
                                      : Error{Code::invalid_argument,
                                              concat("not a request of this API (", status, ")")};
    write_error(response, api, error, status);
  });
  // The library would send the exception's text to the client.
  server.set_exception_handler(
      [&api](const Request&, Response& response, const std::exception_ptr& thrown) {
        try {
          std::rethrow_exception(thrown);
        } catch (const std::exception& e) {
          spdlog::error("http: a handler threw: {}", e.what());
        } catch (...) {
          spdlog::error("http: a handler threw");
        }
        write_error(response, api,
                    Error{Code::internal, "a bug of the coordinator's; its log says more"}, 500);
      });
  install_clients(server, api);
  install_slabs(server, api);
  install_operators(server, api);
  install_observation(server, api);
  install_orders(server, api);
  install_dashboard(server);
}

}  // namespace aqua::coordinator
