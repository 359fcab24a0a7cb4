#include "coordinator/http_observer.hpp"

#include <chrono>
#include <optional>

#include "coordinator/log.hpp"

namespace aqua::coordinator {
namespace {

using Clock = std::chrono::steady_clock;

struct Current {
  Route route;
  Clock::time_point began;
};
// A thread serves one request at a time.
thread_local std::optional<Current> current;

}  // namespace

void HttpObserver::began(const httplib::Request& request) {
  current = Current{route_of(request.path), Clock::now()};
  metrics_.request_began(current->route);
}

void HttpObserver::ended(const httplib::Request& request, const httplib::Response& response) {
  if (!current) {
    current = Current{Route{}, Clock::now()};
    metrics_.request_began(current->route);
  }
  const std::chrono::duration<double> took = Clock::now() - current->began;
  metrics_.request_ended(current->route, request.method, response.status, took);
  current.reset();
  if (!spdlog::should_log(spdlog::level::debug)) return;
  log(spdlog::level::debug, "request",
      {{"method", request.method},
       {"path", request.path},
       {"status", static_cast<std::uint64_t>(response.status)},
       {"seconds", took.count()},
       {"bytes", std::uint64_t{response.body.size()}}});
}

}  // namespace aqua::coordinator
