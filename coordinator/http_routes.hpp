// The routes as metrics and logs name them: a fixed list, whatever paths people try.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace aqua::coordinator {

// A segment in braces stands for any one segment. The last is everything else.
inline constexpr std::array kRoutes{"/",
                                    "/dashboard.css",
                                    "/dashboard.js",
                                    "/healthz",
                                    "/metrics",
                                    "/openapi.json",
                                    "/readyz",
                                    "/v1/clients",
                                    "/v1/clients/self",
                                    "/v1/clients/self/renew",
                                    "/v1/drains",
                                    "/v1/drains/{client}",
                                    "/v1/history",
                                    "/v1/info",
                                    "/v1/leases",
                                    "/v1/leases/return",
                                    "/v1/offers",
                                    "/v1/offers/scrubbed",
                                    "/v1/offers/withdraw",
                                    "/v1/pairs",
                                    "/v1/pairs/{consumer}",
                                    "/v1/recalls",
                                    "/v1/reclaims",
                                    "/v1/reclaims/{id}",
                                    "/v1/slabs/{producer}/{index}/events",
                                    "/v1/state",
                                    "/v1/watch",
                                    "other"};

struct Route {
  std::size_t index = kRoutes.size() - 1;  // of kRoutes
  friend bool operator==(const Route&, const Route&) = default;
};

[[nodiscard]] Route route_of(std::string_view path);

}  // namespace aqua::coordinator
