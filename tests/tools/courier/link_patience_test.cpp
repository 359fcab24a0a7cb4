// SPDX-License-Identifier: Apache-2.0
// A connection's patience is also the kernel's, over each carrier.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "tests/tools/courier/link_pair.hpp"

namespace aqua::courier {
namespace {

class Patience : public LinkPair {
 protected:
  static int option(const Link& link, int name) {
    int value = 0;
    socklen_t size = sizeof value;
    EXPECT_EQ(::getsockopt(link.descriptor(), IPPROTO_TCP, name, &value, &size), 0);
    return value;
  }
};
INSTANTIATE_TEST_SUITE_P(Carriers, Patience, ::testing::Values("tls", "ucx"),
                         [](const auto& carrier) { return carrier.param; });

TEST_P(Patience, IsTheKernelsToo) {
  here_->greeted(std::chrono::seconds(1));
  EXPECT_EQ(option(*here_, TCP_USER_TIMEOUT), 1000);
  EXPECT_EQ(option(*here_, TCP_KEEPIDLE), 1);
}

}  // namespace
}  // namespace aqua::courier
