// SPDX-License-Identifier: Apache-2.0
// An error of accept() on the router's own port, of a machine that has no file left for a moment.
#include <gtest/gtest.h>
#include <httplib.h>

#include <memory>

#include "tests/base/eventually.hpp"
#include "tests/tools/http/break_listener.hpp"
#include "tools/router/serve/server.hpp"

namespace aqua::router {
namespace {

TEST(AcceptError, EndsNoConnectionAndOthersAreAcceptedAgain) {
  FleetOptions options;
  options.health = std::chrono::hours(1);  // port 1 is nobody's
  Counters counters;
  const auto fleet = Fleet::open(options, {parse_engine("a=http://127.0.0.1:1").value()}).value();
  const auto server = RouterServer::start({.port = 0}, *fleet, counters).value();
  httplib::Client earlier("127.0.0.1", server->port());
  earlier.set_keep_alive(true);
  int connections = 0;
  earlier.set_socket_options([&](auto) { ++connections; });
  EXPECT_TRUE(earlier.Get("/healthz"));
  aqua::test::break_listener(server->port());
  EXPECT_TRUE(aqua::test::eventually([&] {
    return static_cast<bool>(httplib::Client("127.0.0.1", server->port()).Get("/healthz"));
  }));
  EXPECT_TRUE(earlier.Get("/healthz"));
  EXPECT_EQ(connections, 1);
}

}  // namespace
}  // namespace aqua::router
