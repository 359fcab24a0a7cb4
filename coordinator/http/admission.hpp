// SPDX-License-Identifier: Apache-2.0
// Admission decides from a request's head and the kernel's word on the peer whether the request
// goes on: limits, path, who is calling, whether they may, and how often. Nothing of a body is
// read before.
//
// Threads: every method may be called concurrently.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "coordinator/access/caller.hpp"
#include "coordinator/access/peer.hpp"
#include "coordinator/access/sessions.hpp"
#include "coordinator/http/refusal.hpp"
#include "coordinator/http/request_head.hpp"
#include "coordinator/http/router.hpp"
#include "tools/access/quota.hpp"
#include "tools/access/tokens.hpp"
#include "wire/limits.hpp"

namespace aqua::coordinator {

using namespace access;  // tokens and quotas

// Sets `length` to the bytes of body that follow `head`; or returns the refusal: 400, 411, 413,
// 415. Only a plain length is taken: no transfer coding, no compression, no ranges.
[[nodiscard]] std::optional<Refusal> refusal_of(const RequestHead& head, std::size_t max_body,
                                                std::size_t& length);

struct AdmissionLimits {
  HeadLimits head;
  std::string proxy_host;  // OwnNames::proxy; in lower case
  std::size_t body_bytes = wire::kMaxRequestBytes;
  QuotaLimits quota;  // of a caller
  QuotaLimits process{.rate = 20'000, .concurrent = 320};
  QuotaLimits user{.rate = 40'000, .concurrent = 480};
  QuotaLimits watches_of_process{.rate = 20'000, .concurrent = 256};
  QuotaLimits watches_of_user{.rate = 40'000, .concurrent = 384};
};

// Admitted is a request that goes on; it counts against the quotas of its caller, of the process
// and of the user while it lives.
struct Admitted {
  const Route* route = nullptr;
  std::vector<std::string> parameters;
  std::string idempotency_key;
  std::size_t body_bytes = 0;
  Caller caller;
  std::vector<Quota::Pass> passes;
};

class Admission {
 public:
  // All but the limits are borrowed.
  Admission(const Router& router, const Sessions& sessions, TokenBook& tokens,
            const AdmissionLimits& limits)
      : limits_(limits),
        router_(router),
        sessions_(sessions),
        tokens_(tokens),
        callers_(limits.quota),
        processes_(limits.process),
        users_(limits.user),
        watches_of_processes_(limits.watches_of_process),
        watches_of_users_(limits.watches_of_user),
        vital_(limits.quota) {}

  [[nodiscard]] std::variant<Admitted, Refusal> decide(const RequestHead& head, const Peer& peer);
  [[nodiscard]] const AdmissionLimits& limits() const noexcept { return limits_; }
  // As Router::lane_of and Router::label_of.
  [[nodiscard]] Lane lane_of(std::string_view text) const { return router_.lane_of(text); }
  [[nodiscard]] std::string_view label_of(std::string_view path) const {
    return router_.label_of(path);
  }

 private:
  [[nodiscard]] std::variant<Caller, Refusal> identify(const RequestHead& head, const Peer& peer);
  [[nodiscard]] std::optional<Refusal> find_session(const RequestHead& head, const Peer& peer,
                                                    Caller& caller) const;
  [[nodiscard]] Result<std::vector<Quota::Pass>> enter(const Route& route, const Caller& caller);

  const AdmissionLimits limits_;
  const Router& router_;
  const Sessions& sessions_;
  TokenBook& tokens_;
  Quota callers_;
  Quota processes_;
  Quota users_;
  Quota watches_of_processes_;  // which the other requests of these do not wait behind
  Quota watches_of_users_;
  Quota vital_;  // of callers: their vital requests, which others do not use up
};

}  // namespace aqua::coordinator
