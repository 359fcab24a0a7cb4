// SPDX-License-Identifier: Apache-2.0
// Gate decides from a request's head and the kernel's word on the peer whether the request
// goes on: limits, path, who is calling, whether they may, and how often. Nothing of a body is
// read before.
//
// Threads: every method may be called concurrently.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "coordinator/access/caller.hpp"
#include "coordinator/access/peer.hpp"
#include "coordinator/access/quota.hpp"
#include "coordinator/access/sessions.hpp"
#include "coordinator/access/tokens.hpp"
#include "coordinator/http/refusal.hpp"
#include "coordinator/http/request_head.hpp"
#include "coordinator/http/router.hpp"
#include "wire/limits.hpp"

namespace aqua::coordinator {

struct GateLimits {
  HeadLimits head;
  std::size_t body_bytes = wire::kMaxRequestBytes;
  QuotaLimits quota;
};

// A request that goes on.
struct Admitted {
  const Route* route = nullptr;
  std::vector<std::string> parameters;
  std::string idempotency_key;
  std::size_t body_bytes = 0;
  Caller caller;
  Quota::Pass pass;
};

class Gate {
 public:
  // All but the limits are borrowed.
  Gate(const Router& router, const Sessions& sessions, TokenBook& tokens, const GateLimits& limits)
      : limits_(limits),
        router_(router),
        sessions_(sessions),
        tokens_(tokens),
        quota_(limits.quota) {}

  [[nodiscard]] std::variant<Admitted, Refusal> decide(const RequestHead& head, const Peer& peer);
  [[nodiscard]] const GateLimits& limits() const noexcept { return limits_; }
  // As Router::label_of.
  [[nodiscard]] std::string_view label_of(std::string_view path) const {
    return router_.label_of(path);
  }

 private:
  [[nodiscard]] std::variant<Caller, Refusal> identify(const RequestHead& head, const Peer& peer);
  [[nodiscard]] std::optional<Refusal> find_session(const RequestHead& head, const Peer& peer,
                                                    Caller& caller) const;

  const GateLimits limits_;
  const Router& router_;
  const Sessions& sessions_;
  TokenBook& tokens_;
  Quota quota_;
};

}  // namespace aqua::coordinator
