// SPDX-License-Identifier: Apache-2.0
#include "tools/admin/https_call.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>

#include "base/concat.hpp"
#include "base/environment.hpp"
#include "wire/limits.hpp"

namespace aqua::admin {
namespace {

constexpr std::string_view kScheme = "https://";

using Handle = std::unique_ptr<CURL, decltype(&::curl_easy_cleanup)>;

class Headers {
 public:
  Headers() = default;
  Headers(const Headers&) = delete;
  Headers& operator=(const Headers&) = delete;
  ~Headers() { ::curl_slist_free_all(list_); }
  void add(const std::string& line) { list_ = ::curl_slist_append(list_, line.c_str()); }
  [[nodiscard]] curl_slist* list() const { return list_; }

 private:
  curl_slist* list_ = nullptr;
};

// Returns less than it was given, which ends the transfer, where the reply is too large.
std::size_t keep(char* bytes, std::size_t /*one*/, std::size_t count, void* body) {
  auto& kept = *static_cast<std::string*>(body);
  if (kept.size() + count > wire::kMaxReplyBytes) return 0;
  kept.append(bytes, count);
  return count;
}

Error error_of(CURLcode fault, const char* detail, const HttpsAddress& to) {
  const std::string what =
      concat(to.host, ":", to.port, ": ", *detail != '\0' ? detail : ::curl_easy_strerror(fault));
  switch (fault) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
      return {Code::failed_precondition,
              concat(what, ": its certificate has to name ", to.host,
                     " and to be signed by an authority in the file that AQUA_CA_FILE names or, "
                     "without one, by one that this system trusts")};
    case CURLE_OPERATION_TIMEDOUT:
      return {Code::deadline_exceeded, what};
    default:
      return {Code::unavailable, what};
  }
}

// Whether the request may have been read before that.
bool may_have_been_sent(CURLcode fault) {
  return fault == CURLE_OPERATION_TIMEDOUT || fault == CURLE_GOT_NOTHING ||
         fault == CURLE_RECV_ERROR || fault == CURLE_SEND_ERROR || fault == CURLE_WRITE_ERROR;
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
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  const std::string_view inside = bracketed ? host.substr(1, host.size() - 2) : host;
  if (inside.empty() || inside.find_first_of("/@?#[] ") != std::string_view::npos) return wrong;
  if (!bracketed && inside.find(':') != std::string_view::npos) return wrong;
  address.host = host;
  return address;
}

southbound::CallOutcome https_call(const HttpsAddress& to, const southbound::HttpRequest& request,
                                   southbound::Clock::time_point deadline) {
  const Handle curl(::curl_easy_init(), &::curl_easy_cleanup);
  const auto set = [&](CURLoption option, auto value) {
    (void)::curl_easy_setopt(curl.get(), option, value);
  };
  const std::string url = concat(kScheme, to.host, ":", to.port, request.target);
  const std::string authority = environment("AQUA_CA_FILE");
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - southbound::Clock::now());
  std::array<char, CURL_ERROR_SIZE> detail{};
  std::string body;
  Headers headers;
  if (const std::string token = southbound::bearer_token(); !token.empty())
    headers.add(concat("Authorization: Bearer ", token));
  if (!request.idempotency_key.empty())
    headers.add(concat("Idempotency-Key: ", request.idempotency_key));
  headers.add("Content-Type: application/json");

  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "https");
  set(CURLOPT_PROXY, "");
  set(CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
  set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  if (!request.body.empty()) {
    set(CURLOPT_POSTFIELDSIZE, static_cast<long>(request.body.size()));
    set(CURLOPT_POSTFIELDS, request.body.c_str());
  }
  set(CURLOPT_HTTPHEADER, headers.list());
  if (!authority.empty()) set(CURLOPT_CAINFO, authority.c_str());
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(std::max<std::int64_t>(left.count(), 1)));
  set(CURLOPT_ERRORBUFFER, detail.data());
  set(CURLOPT_WRITEFUNCTION, &keep);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&body));

  southbound::CallOutcome outcome;
  const CURLcode fault = ::curl_easy_perform(curl.get());
  if (fault != CURLE_OK) {
    outcome.sent = may_have_been_sent(fault);
    outcome.error = error_of(fault, detail.data(), to);
    outcome.error.message =
        concat(request.method, " ", request.target, ": ", outcome.error.message);
    return outcome;
  }
  long status = 0;
  (void)::curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  outcome.sent = true;
  outcome.reply = southbound::HttpReply{static_cast<int>(status), std::move(body)};
  return outcome;
}

}  // namespace aqua::admin
