// SPDX-License-Identifier: Apache-2.0
#include "tools/http/listening.hpp"

#include <gtest/gtest.h>
#include <httplib.h>

#include "tests/base/eventually.hpp"
#include "tests/tools/http/break_listener.hpp"

namespace aqua::http {
namespace {

class ListeningTest : public ::testing::Test {
 protected:
  ListeningTest() {
    server_.Get("/", [](const httplib::Request&, httplib::Response& reply) {
      reply.set_content("here", "text/plain");
    });
    port_ = server_.bind_to_any_port("127.0.0.1");
  }
  bool answers() const { return static_cast<bool>(httplib::Client("127.0.0.1", port_).Get("/")); }

  httplib::Server server_;
  int port_ = 0;
};

TEST_F(ListeningTest, GoesOnAfterErrorsOfAccept) {
  const Listening listening(server_, [&] { return server_.bind_to_port("127.0.0.1", port_); });
  EXPECT_TRUE(answers());
  for (int i = 0; i < 3; ++i) {
    test::break_listener(port_);
    EXPECT_TRUE(test::eventually([&] { return answers(); }));
  }
}

TEST_F(ListeningTest, BindsUntilItIsBound) {
  std::atomic<int> tries{0};
  const Listening listening(
      server_, [&] { return ++tries == 3 && server_.bind_to_port("127.0.0.1", port_); });
  test::break_listener(port_);
  EXPECT_TRUE(test::eventually([&] { return answers(); }));
  EXPECT_EQ(tries, 3);
}

TEST_F(ListeningTest, EndsWhileItCannotBeBound) {
  std::atomic<int> tries{0};
  const Listening listening(server_, [&] {
    ++tries;
    return false;
  });
  test::break_listener(port_);
  EXPECT_TRUE(test::eventually([&] { return tries > 0; }));
}

TEST_F(ListeningTest, EndsAtOnce) {
  const Listening listening(server_, [] { return false; });
}

}  // namespace
}  // namespace aqua::http
