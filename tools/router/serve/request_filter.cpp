// SPDX-License-Identifier: Apache-2.0
#include "tools/router/serve/request_filter.hpp"

#include <charconv>
#include <chrono>

#include "base/concat.hpp"
#include "tools/access/host.hpp"
#include "tools/router/serve/page.hpp"

namespace aqua::router {
namespace {

using access::Role;

std::optional<Refused> refuse(int status, Code code, std::string why) {
  return Refused{status, Error{code, std::move(why)}};
}

// The body's, by what the head says of it. The library reads one for methods that have none, and
// unpacks it beyond every bound.
std::optional<Refused> refusal_of_body(const HeadView& head, std::size_t most) {
  if (head.has_transfer_encoding)
    return refuse(411, Code::invalid_argument,
                  "Transfer-Encoding is not taken; send Content-Length");
  if (head.has_content_encoding)
    return refuse(415, Code::invalid_argument, "Content-Encoding is not taken");
  if (head.method != "POST" && head.method != "PUT") {
    if (head.content_length.empty() || head.content_length == "0") return std::nullopt;
    return refuse(413, Code::invalid_argument, concat(head.method, " takes no body"));
  }
  std::size_t length = 0;
  const char* end = head.content_length.data() + head.content_length.size();
  const auto [at, fault] = std::from_chars(head.content_length.data(), end, length);
  if (head.content_length.empty() || fault != std::errc{} || at != end)
    return refuse(411, Code::invalid_argument, "Content-Length is missing");
  if (length > most) {
    return refuse(413, Code::invalid_argument,
                  concat("a body has at most ", most, " bytes (--max-body)"));
  }
  const bool json =
      head.content_type == "application/json" || head.content_type.starts_with("application/json;");
  if (length > 0 && !json)
    return refuse(415, Code::invalid_argument, "expected Content-Type: application/json");
  return std::nullopt;
}

}  // namespace

Role role_for(std::string_view method, std::string_view path) {
  if (path == "/healthz" || path == "/readyz") return Role::none;
  if (method == "GET" && is_of_page(path)) return Role::none;
  if (path.starts_with("/v1/") && path != "/v1/models") return Role::engine;
  return method == "GET" || method == "HEAD" ? Role::read_only : Role::operator_;
}

RequestFilter::RequestFilter(const RequestFilterOptions& options)
    : options_(options), book_(options.tokens), quota_(options.quota) {}

std::optional<Refused> RequestFilter::identify(const HeadView& head,
                                               std::optional<access::Quota::Pass>& pass) {
  constexpr std::string_view kBearer = "Bearer ";
  const Role least = role_for(head.method, head.path);
  if (least == Role::none) return std::nullopt;
  if (options_.tokens.empty()) {
    const bool is_ours = head.host.empty() || access::is_loopback(access::host_of(head.host));
    if (!is_ours && !options_.open) {
      return refuse(421, Code::permission_denied,
                    "Host is not localhost, 127.0.0.1 or [::1]: without --tokens this router "
                    "answers to no other name, unless told --open");
    }
    if (!head.from_page) return std::nullopt;
    return refuse(403, Code::permission_denied,
                  "a page's request needs a token, and this router knows none (--tokens)");
  }
  if (!head.authorization.starts_with(kBearer))
    return refuse(401, Code::permission_denied, "a token is wanted: Authorization: Bearer TOKEN");
  const auto found = book_.find(head.authorization.substr(kBearer.size()));
  if (!found.ok()) return Refused{503, found.error()};
  if (!*found) return refuse(401, Code::permission_denied, "nobody has this token");
  const access::Token& token = **found;
  if (token.role < least) {
    return refuse(403, Code::permission_denied,
                  concat("a token of role ", to_string(least), " is wanted, this one is ",
                         to_string(token.role)));
  }
  auto entered = quota_.enter(concat("token ", token.id()), std::chrono::steady_clock::now());
  if (!entered.ok()) return Refused{429, entered.error()};
  pass.emplace(std::move(entered).value());
  return std::nullopt;
}

std::optional<Refused> RequestFilter::refusal_of(const HeadView& head,
                                                 std::optional<access::Quota::Pass>& pass) {
  if (auto refused = identify(head, pass)) return refused;
  return refusal_of_body(head, options_.most_body);
}

}  // namespace aqua::router
