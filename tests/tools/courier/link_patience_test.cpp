// SPDX-License-Identifier: Apache-2.0
// A peer that is there, and takes nothing in.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "base/wake_event.hpp"
#include "tests/base/temp_dir.hpp"
#include "tests/tls/certificate.hpp"
#include "tools/courier/net/link.hpp"
#include "tools/courier/net/sockets.hpp"

namespace aqua::courier {
namespace {

class Patience : public ::testing::Test {
 protected:
  std::unique_ptr<MutualTls> identity(const std::string& name) {
    const std::string pem = dir_ / (name + ".pem"), key = dir_ / (name + ".key");
    authority_.issue(name, pem, key);
    return MutualTls::load({.identity = {pem, key}, .authority = dir_ / "authority.pem"}).value();
  }
  static int option(const Link& link, int name) {
    int value = 0;
    socklen_t size = sizeof value;
    EXPECT_EQ(::getsockopt(link.descriptor(), IPPROTO_TCP, name, &value, &size), 0);
    return value;
  }

  testing::TempDir dir_;
  const testing::Authority authority_{dir_ / "authority.pem"};
  const UniqueFd never_ = make_wake_event().value();
};

TEST_F(Patience, EndsASendThatNobodyReadsAndIsTheKernelsToo) {
  const auto here = identity("a.test"), there = identity("b.test");
  const UniqueFd listener = listen_at("127.0.0.1:0").value();
  auto accepted = std::async(std::launch::async, [&] {
    const std::vector<std::string> names{"a.test"};
    return Link::accept(*there, accept_next(listener.get(), never_.get()).value(), names,
                        never_.get());
  });
  auto link = Link::connect(*here, "127.0.0.1:" + std::to_string(port_of(listener.get())), "b.test",
                            never_.get());
  ASSERT_TRUE(link.ok()) << link.error().message;
  const auto silent = accepted.get();  // it reads nothing, and lives
  ASSERT_TRUE(silent.ok()) << silent.error().message;
  link->greeted(std::chrono::seconds(1));
  EXPECT_EQ(option(*link, TCP_USER_TIMEOUT), 1000);
  EXPECT_EQ(option(*link, TCP_KEEPIDLE), 1);
  const int never = 0;  // so that it is not the kernel's
  ASSERT_EQ(::setsockopt(link->descriptor(), IPPROTO_TCP, TCP_USER_TIMEOUT, &never, sizeof never),
            0);
  const auto sent = link->send(std::vector<std::byte>(std::size_t{64} << 20));
  ASSERT_FALSE(sent.ok()) << "beyond what the sockets hold";
  EXPECT_EQ(sent.error().code, Code::unavailable) << sent.error().message;
}

}  // namespace
}  // namespace aqua::courier
