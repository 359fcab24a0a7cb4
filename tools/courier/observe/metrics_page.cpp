// SPDX-License-Identifier: Apache-2.0
#include "tools/courier/observe/metrics_page.hpp"

#include <httplib.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "base/concat.hpp"
#include "base/errno_error.hpp"
#include "base/keeper/connection.hpp"
#include "base/try.hpp"
#include "tools/courier/net/sockets.hpp"
#include "tools/http/listening.hpp"
#include "tools/http/metric_families.hpp"

namespace aqua::courier {

std::string metrics_text(const Counters& counters, const RouteStates& routes,
                         const MutualTls& identity) {
  using prometheus::MetricType;
  http::Families families;
  const auto add = [&](const char* name, const char* help, MetricType type, double value) {
    families.begin(name, help, type);
    families.add(value);
  };
  const auto counts = [&](const char* name, const char* help, const auto& value) {
    add(name, help, MetricType::Counter, static_cast<double>(value.load()));
  };
  counts("aqua_courier_parcels_sent_total", "Parcels that another keeper has.", counters.sent);
  counts("aqua_courier_parcels_received_total", "Parcels that our keeper has.", counters.received);
  counts("aqua_courier_sent_bytes_total",
         "Bytes of parcels that were sent, also of some on their way.", counters.sent_bytes);
  counts("aqua_courier_received_bytes_total",
         "Bytes of parcels that have come, also of some on their way.", counters.received_bytes);
  counts("aqua_courier_mirrored_total", "Copies of segments that another keeper has got.",
         counters.mirrored);
  counts("aqua_courier_mirrored_bytes_total",
         "Bytes of copies that were sent, also of one on its way.", counters.mirrored_bytes);
  counts("aqua_courier_copies_total", "Copies of others' segments that our keeper has got.",
         counters.copies);
  counts("aqua_courier_copies_bytes_total",
         "Bytes of copies that have come, also of one on its way.", counters.copies_bytes);
  counts("aqua_courier_resumed_total", "Parcels that had come over an earlier connection.",
         counters.resumed);
  counts("aqua_courier_refused_total", "Times that another server did not take a parcel or a copy.",
         counters.refused);
  counts("aqua_courier_lost_connections_total", "Connections that have ended.",
         counters.lost_links);
  const auto of_routes = [&](const char* name, const char* help, const auto& value_of) {
    families.begin(name, help, MetricType::Gauge);
    if (routes.empty()) families.add(0);  // a server that only receives
    for (const RouteState& route : routes) {
      families.add(static_cast<double>(value_of(route)),
                   {{"pool", route.pool()}, {"peer", route.peer()}});
    }
  };
  of_routes("aqua_courier_routes", "Connections to others that there have to be.",
            [](const RouteState& route) { return route.connections(); });
  of_routes("aqua_courier_routes_up", "Connections to others that are up.",
            [](const RouteState& route) { return route.now().up; });
  of_routes("aqua_courier_sending_bytes", "Bytes of what is on its way that are yet to be sent.",
            [](const RouteState& route) { return route.left(); });
  families.begin("aqua_courier_carriers", "Connections to others that are up, by what moves bytes.",
                 MetricType::Gauge);
  if (routes.empty()) families.add(0);
  for (const RouteState& route : routes) {
    const RouteState::Now now = route.now();
    const auto add_of = [&](const char* carrier, std::size_t connections) {
      families.add(static_cast<double>(connections),
                   {{"pool", route.pool()}, {"peer", route.peer()}, {"carrier", carrier}});
    };
    add_of("tls", now.up - now.over_ucx);
    add_of("ucx", now.over_ucx);
  }
  families.begin("aqua_courier_mirror_behind_bytes",
                 "Bytes of segments that another keeper has yet to get copies of.",
                 MetricType::Gauge);
  for (const RouteState& route : routes) {
    if (!route.pool().empty()) continue;
    families.add(static_cast<double>(route.behind().bytes), {{"peer", route.peer()}});
  }
  add("aqua_courier_visitors", "Connections of others that are up.", MetricType::Gauge,
      static_cast<double>(counters.links_in.load()));
  add("aqua_courier_ucx_visitors", "Of these, where UCX moves the bytes.", MetricType::Gauge,
      static_cast<double>(counters.ucx_links_in.load()));
  add("aqua_courier_certificate_expiry_timestamp_seconds",
      "When our certificate ends, in seconds since 1970.", MetricType::Gauge,
      static_cast<double>(identity.certificate_ends().time_since_epoch().count()));
  return families.text();
}

std::pair<bool, std::string> readiness_text(const Counters& counters, const RouteStates& routes,
                                            const std::string& keeper) {
  std::string down;
  if (const auto there = KeeperConnection::connect(keeper); !there.ok()) {
    down = there.error().message + "\n";
  }
  for (const RouteState& route : routes) {
    const RouteState::Now now = route.now();
    if (now.up == route.connections()) continue;
    down += concat(route.pool().empty() ? "copies" : route.pool(), " to ", route.peer(), ": ",
                   now.up, " of ", route.connections(), " connections are up: ", now.why, "\n");
  }
  if (!down.empty()) return {false, down};
  if (!routes.empty()) return {true, "all connections to others are up\n"};
  const std::uint64_t visitors = counters.links_in;
  return {true, concat("nothing is carried from here; ", visitors, " connections of others\n")};
}

struct MetricsPage::Impl {
  httplib::Server server;
  int port = 0;
  std::optional<http::Listening> listening;
};

MetricsPage::MetricsPage(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

MetricsPage::~MetricsPage() = default;

int MetricsPage::port() const {
  return impl_->port;
}

Result<std::unique_ptr<MetricsPage>> MetricsPage::open(const std::string& address,
                                                       const Counters& counters,
                                                       const RouteStates& routes,
                                                       const std::string& keeper,
                                                       const MutualTls& identity) {
  AQUA_ASSIGN(const Address parsed, parse_address(address));
  auto impl = std::make_unique<Impl>();
  // Not SO_REUSEPORT, by which another one would listen there as well.
  impl->server.set_socket_options([](int socket) {
    const int yes = 1;
    (void)::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  impl->server.new_task_queue = [] { return new httplib::ThreadPool(2); };
  impl->server.Get("/metrics", [&](const auto& /*asked*/, auto& answer) {
    answer.set_content(metrics_text(counters, routes, identity), "text/plain; version=0.0.4");
  });
  impl->server.Get("/readyz", [&counters, &routes, keeper](const auto& /*asked*/, auto& answer) {
    const auto [all_up, text] = readiness_text(counters, routes, keeper);
    answer.status = all_up ? 200 : 503;
    answer.set_content(text, "text/plain");
  });
  const int port = std::stoi(parsed.port);
  errno = 0;
  impl->port = port == 0 ? impl->server.bind_to_any_port(parsed.host)
               : impl->server.bind_to_port(parsed.host, port) ? port
                                                              : -1;
  if (impl->port < 0) {
    const std::string why = errno == 0 ? "" : concat(": ", errno_error("listen").message);
    return Error{Code::unavailable, concat("courier: metrics: cannot listen at ", address, why)};
  }
  impl->listening.emplace(impl->server,
                          [&server = impl->server, host = parsed.host, bound = impl->port] {
                            return server.bind_to_port(host, bound);
                          });
  return std::unique_ptr<MetricsPage>(new MetricsPage(std::move(impl)));
}

}  // namespace aqua::courier
