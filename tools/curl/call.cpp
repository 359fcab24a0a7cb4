// SPDX-License-Identifier: Apache-2.0
#include "tools/curl/call.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <utility>

#include "base/concat.hpp"

namespace aqua::curl {
namespace {

using Easy = std::unique_ptr<CURL, decltype(&::curl_easy_cleanup)>;
using Multi = std::unique_ptr<CURLM, decltype(&::curl_multi_cleanup)>;

class Headers {
 public:
  explicit Headers(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) list_ = ::curl_slist_append(list_, line.c_str());
  }
  Headers(const Headers&) = delete;
  Headers& operator=(const Headers&) = delete;
  ~Headers() { ::curl_slist_free_all(list_); }
  [[nodiscard]] curl_slist* list() const { return list_; }

 private:
  curl_slist* list_ = nullptr;
};

// Where the bytes of a reply go.
struct Body {
  CURL* curl = nullptr;
  const OnData& on_data;
  std::size_t most = 0;
  std::string kept{};
  bool too_large = false;
  bool ended = false;  // by on_data
};

// Returns less than it was given, which ends the transfer, where no more is wanted.
std::size_t take(char* bytes, std::size_t /*one*/, std::size_t count, void* context) {
  auto& body = *static_cast<Body*>(context);
  long status = 0;
  (void)::curl_easy_getinfo(body.curl, CURLINFO_RESPONSE_CODE, &status);
  if (body.on_data && status == 200) {
    body.ended = !body.on_data({bytes, count});
    return body.ended ? 0 : count;
  }
  body.too_large = body.kept.size() + count > body.most;
  if (body.too_large) return 0;
  body.kept.append(bytes, count);
  return count;
}

// How long until then, for curl: at least a millisecond, and never without an end.
long milliseconds_until(Clock::time_point when) {
  const auto now = Clock::now();
  if (when <= now) return 1;
  constexpr long kMost = std::numeric_limits<int>::max();
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(when - now).count();
  return std::clamp(static_cast<long>(std::min<std::int64_t>(left, kMost)), 1L, kMost);
}

void set_up(CURL* curl, const Request& request, const Headers& headers, char* detail, Body& body) {
  const auto set = [curl](CURLoption option, auto value) {
    (void)::curl_easy_setopt(curl, option, value);
  };
  set(CURLOPT_URL, request.url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_PROXY, "");
  set(CURLOPT_NOSIGNAL, 1L);
#if LIBCURL_VERSION_NUM >= 0x075700  // 7.87
  set(CURLOPT_QUICK_EXIT, 1L);  // or the end of a call would wait for a name server that is silent
#endif
  set(CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
  set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  if (!request.body.empty()) {
    set(CURLOPT_POSTFIELDSIZE, static_cast<long>(request.body.size()));
    set(CURLOPT_POSTFIELDS, request.body.c_str());
  }
  set(CURLOPT_HTTPHEADER, headers.list());
  if (!request.authority.empty()) set(CURLOPT_CAINFO, request.authority.c_str());
  if (request.deadline != Clock::time_point::max())
    set(CURLOPT_TIMEOUT_MS, milliseconds_until(request.deadline));
  set(CURLOPT_ERRORBUFFER, detail);
  set(CURLOPT_WRITEFUNCTION, &take);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&body));
}

// Until the transfer ends, or `stop`; nullopt then.
std::optional<CURLcode> transfer(CURLM* multi, CURL* curl, const std::stop_token& stop) {
  if (::curl_multi_add_handle(multi, curl) != CURLM_OK) return CURLE_FAILED_INIT;
  const std::stop_callback wake(stop, [multi] { (void)::curl_multi_wakeup(multi); });
  std::optional<CURLcode> ended;
  for (int running = 1; !stop.stop_requested();) {
    if (::curl_multi_perform(multi, &running) != CURLM_OK) {
      ended = CURLE_FAILED_INIT;
      break;
    }
    if (running == 0) {
      int left = 0;
      const CURLMsg* said = ::curl_multi_info_read(multi, &left);
      ended = said != nullptr ? said->data.result : CURLE_FAILED_INIT;
      break;
    }
    // curl's own timers end the wait sooner where they are due.
    constexpr int kLongest = 60'000;
    (void)::curl_multi_poll(multi, nullptr, 0, kLongest, nullptr);
  }
  (void)::curl_multi_remove_handle(multi, curl);
  return ended;
}

Error error_of(CURLcode fault, const char* detail, const Request& request, const Body& body) {
  if (body.ended) return {Code::cancelled, concat(request.url, ": ended by who asked")};
  if (body.too_large) {
    return {Code::data_loss, concat(request.url, ": its answer is larger than ",
                                    request.most_reply_bytes, " bytes")};
  }
  const std::string what =
      concat(request.url, ": ", *detail != '\0' ? detail : ::curl_easy_strerror(fault));
  switch (fault) {
    case CURLE_SSL_CACERT_BADFILE:
      return {Code::failed_precondition,
              concat(what, ": ", request.authority_from, " is to name a file of certificates")};
    case CURLE_GOT_NOTHING:
      return {Code::unavailable,
              concat(what, request.url.starts_with("http:") ? ": is https:// spoken there?" : "")};
    case CURLE_PEER_FAILED_VERIFICATION:
      return {
          Code::failed_precondition,
          concat(what,
                 ": its certificate has to name the host, and to be signed by an "
                 "authority in the file that ",
                 request.authority_from, " names or, without one, by one that this system trusts")};
    case CURLE_OPERATION_TIMEDOUT:
      return {Code::deadline_exceeded, what};
    default:
      return {Code::unavailable, what};
  }
}

// Whether the request may have been read before that.
bool may_have_been_sent(CURLcode fault) {
  return fault == CURLE_OPERATION_TIMEDOUT || fault == CURLE_GOT_NOTHING ||
         fault == CURLE_RECV_ERROR || fault == CURLE_SEND_ERROR || fault == CURLE_WRITE_ERROR ||
         fault == CURLE_PARTIAL_FILE;
}

}  // namespace

Outcome call(const Request& request, const std::stop_token& stop, const OnData& on_data) {
  const Easy curl(::curl_easy_init(), &::curl_easy_cleanup);
  const Multi multi(::curl_multi_init(), &::curl_multi_cleanup);
  Outcome outcome;
  if (curl == nullptr || multi == nullptr) {
    outcome.error = {Code::resource_exhausted, concat(request.url, ": no memory to ask with")};
    return outcome;
  }
  std::array<char, CURL_ERROR_SIZE> detail{};
  const Headers headers(request.headers);
  Body body{.curl = curl.get(), .on_data = on_data, .most = request.most_reply_bytes};
  set_up(curl.get(), request, headers, detail.data(), body);
  const std::optional<CURLcode> ended = transfer(multi.get(), curl.get(), stop);
  if (!ended) {
    outcome.sent = true;  // perhaps
    outcome.error = {Code::cancelled, concat(request.url, ": stopped")};
    return outcome;
  }
  if (*ended != CURLE_OK) {
    outcome.sent = may_have_been_sent(*ended);
    outcome.error = error_of(*ended, detail.data(), request, body);
    return outcome;
  }
  long status = 0;
  (void)::curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  outcome.sent = true;
  outcome.reply = Reply{static_cast<int>(status), std::move(body.kept)};
  return outcome;
}

}  // namespace aqua::curl
