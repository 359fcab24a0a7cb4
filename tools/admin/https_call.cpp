// SPDX-License-Identifier: Apache-2.0
#include "tools/admin/https_call.hpp"

#include <httplib.h>

#include <algorithm>
#include <charconv>

#include "base/concat.hpp"
#include "base/environment.hpp"
#include "wire/limits.hpp"

namespace aqua::admin {
namespace {

constexpr std::string_view kScheme = "https://";

Error error_of(httplib::Error fault, const HttpsAddress& to) {
  const std::string what = concat(to.host, ":", to.port, ": ", httplib::to_string(fault));
  switch (fault) {
    case httplib::Error::SSLLoadingCerts:
    case httplib::Error::SSLServerVerification:
      return {Code::failed_precondition,
              concat(what, ": its certificate has to name ", to.host,
                     " and to be signed by an authority in the file that AQUA_CA_FILE names or, "
                     "without one, by one that this system trusts")};
    default:
      return {Code::unavailable, what};
  }
}

}  // namespace

bool is_https(std::string_view coordinator) {
  return coordinator.starts_with(kScheme);
}

Result<HttpsAddress> parse_https(std::string_view coordinator) {
  const Error wrong{Code::invalid_argument,
                    concat("address \"", coordinator, "\": must be https://HOST:PORT")};
  if (!is_https(coordinator)) return wrong;
  std::string_view host = coordinator.substr(kScheme.size());
  const std::size_t colon = host.rfind(':');
  if (colon == std::string_view::npos) return wrong;
  const std::string_view port = host.substr(colon + 1);
  host = host.substr(0, colon);
  HttpsAddress address;
  const auto [end, fault] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (fault != std::errc{} || end != port.data() + port.size() || address.port < 1 ||
      address.port > 65535)
    return wrong;
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return wrong;  // an IPv6 address goes in brackets
  }
  if (host.empty() || host.find_first_of("/@?# ") != std::string_view::npos) return wrong;
  address.host = host;
  return address;
}

southbound::CallOutcome https_call(const HttpsAddress& to, const southbound::HttpRequest& request,
                                   southbound::Clock::time_point deadline) {
  httplib::SSLClient client(to.host, to.port);
  if (const std::string authority = environment("AQUA_CA_FILE"); !authority.empty())
    client.set_ca_cert_path(authority.c_str());
  client.enable_server_certificate_verification(true);
  const auto left = std::max(deadline - southbound::Clock::now(), southbound::Clock::duration(1));
  client.set_connection_timeout(left);
  client.set_read_timeout(left);
  client.set_write_timeout(left);

  httplib::Request asked;
  asked.method = request.method;
  asked.path = request.target;
  asked.body = request.body;
  if (const std::string token = southbound::bearer_token(); !token.empty())
    asked.set_header("Authorization", concat("Bearer ", token));
  if (!request.idempotency_key.empty())
    asked.set_header("Idempotency-Key", request.idempotency_key);
  if (!request.body.empty()) asked.set_header("Content-Type", "application/json");
  std::string body;
  asked.content_receiver = [&](const char* bytes, std::size_t count, auto... /*where*/) {
    if (body.size() + count > wire::kMaxReplyBytes) return false;
    body.append(bytes, count);
    return southbound::Clock::now() < deadline;
  };
  const auto reply = client.send(asked);
  southbound::CallOutcome outcome;
  if (reply) {
    outcome.reply = southbound::HttpReply{reply->status, std::move(body)};
  } else {
    outcome.error = error_of(reply.error(), to);
    outcome.error.message =
        concat(request.method, " ", request.target, ": ", outcome.error.message);
  }
  return outcome;
}

}  // namespace aqua::admin
