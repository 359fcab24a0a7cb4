// SPDX-License-Identifier: Apache-2.0
#include "coordinator/http/http_observer.hpp"

#include "coordinator/common/log.hpp"

namespace aqua::coordinator {

HttpObserver::Call HttpObserver::began(std::string_view route) {
  metrics_.request_began(route);
  return {route, std::chrono::steady_clock::now()};
}

void HttpObserver::ended(const Call& call, const RequestHead& head, const Reply& reply) {
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - call.began;
  metrics_.request_ended(call.route, head.method, reply.status, took);
  if (!is_logged(LogLevel::debug)) return;
  log(LogLevel::debug, "request",
      {{"method", head.method},
       {"path", head.path},
       {"status", static_cast<std::uint64_t>(reply.status)},
       {"seconds", took.count()},
       {"bytes", std::uint64_t{reply.content().size()}}});
}

}  // namespace aqua::coordinator
