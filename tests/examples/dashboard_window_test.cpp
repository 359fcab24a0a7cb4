// SPDX-License-Identifier: Apache-2.0
// The demonstration's window shows what the coordinator shows, to lookers only.
#include "dashboard_window.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <sys/socket.h>

#include <atomic>
#include <thread>

#include "base/unique_fd.hpp"
#include "must.hpp"
#include "tests/base/temp_dir.hpp"
#include "tests/loopback_socket.hpp"

namespace aqua::example {
namespace {

using ::testing::HasSubstr;

// Stands in for a coordinator: says on its Unix socket who asks for what.
struct DashboardWindowOf : ::testing::Test {
  DashboardWindowOf() {
    coordinator.Get(".*", [](const httplib::Request& asked, httplib::Response& reply) {
      reply.set_header("Content-Security-Policy", "default-src 'none'");
      reply.set_content(asked.target + " for " + asked.get_header_value("Host"), "text/plain");
    });
    coordinator.Post(".*", [this](const auto&, auto&) { ordered = true; });
    coordinator.set_address_family(AF_UNIX);
    EXPECT_TRUE(coordinator.bind_to_port(socket, 80));
    thread = std::thread([this] { coordinator.listen_after_bind(); });
  }
  ~DashboardWindowOf() override {
    coordinator.stop();
    thread.join();
  }
  const aqua::testing::TempDir dir;
  const std::string socket = dir / "socket";
  const std::uint16_t port = static_cast<std::uint16_t>(aqua::testing::LoopbackSocket().port);
  std::atomic<bool> ordered{false};
  httplib::Server coordinator;
  std::thread thread;
};

TEST_F(DashboardWindowOf, ShowsWhatItIsAskedFor) {
  const DashboardWindow window(port, socket);
  const auto seen = httplib::Client("127.0.0.1", port).Get("/v1/state?x=1");
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->status, 200);
  EXPECT_EQ(seen->body, "/v1/state?x=1 for 127.0.0.1:" + std::to_string(port));
  EXPECT_EQ(seen->get_header_value("Content-Security-Policy"), "default-src 'none'");
}

TEST_F(DashboardWindowOf, PassesOnNoOrder) {
  const DashboardWindow window(port, socket);
  const auto refused =
      httplib::Client("127.0.0.1", port).Post("/v1/drains", "{}", "application/json");
  ASSERT_TRUE(refused);
  EXPECT_GE(refused->status, 400);
  EXPECT_FALSE(ordered);
}

TEST_F(DashboardWindowOf, APortThatIsTakenIsNamed) {
  const DashboardWindow window(port, socket);
  try {
    const DashboardWindow second(port, socket);
    FAIL() << "two share a port";
  } catch (const Failure& failure) {
    EXPECT_THAT(failure.what(), HasSubstr("port " + std::to_string(port)));
  }
}

}  // namespace
}  // namespace aqua::example
