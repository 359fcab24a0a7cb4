// SPDX-License-Identifier: Apache-2.0
// A coordinator asked over TLS by what `aqua` asks with: whose certificate does, and what is said
// of one that does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/coordinator/http/tls_daemon.hpp"
#include "tests/coordinator/token_file.hpp"
#include "tests/southbound/peers.hpp"
#include "tools/admin/operator.hpp"

namespace aqua::testing {
namespace {

using ::testing::HasSubstr;

struct AdminOverTls : Certificate, ::testing::Test {
  void SetUp() override { trust(path); }
  void TearDown() override { ::unsetenv("AQUA_CA_FILE"); }
  static void trust(const std::string& file) {
    ASSERT_EQ(::setenv("AQUA_CA_FILE", file.c_str(), 1), 0);
  }
  TlsDaemon daemon{arguments()};
  const std::string at = daemon.url();
};

TEST_F(AdminOverTls, ReadsAndOrdersAsOverTheSocket) {
  const TokenFile token(daemon.unix_socket.daemon, "operator");
  const std::string& socket = daemon.unix_socket.daemon.address();
  const Peer lender(socket, "lender", true), borrower(socket, "borrower", false);
  EXPECT_EQ(admin::fetch_info(at)->version, admin::fetch_info(socket)->version);
  const wire::Pair pair{lender.id, borrower.id};
  ASSERT_TRUE(admin::set_pair(at, pair).ok());
  EXPECT_EQ(admin::fetch_state(at)->pairs, std::vector<wire::Pair>{pair});
  EXPECT_EQ(admin::fetch_state(socket)->pairs, std::vector<wire::Pair>{pair});
  ASSERT_TRUE(admin::remove_pair(at, borrower.id).ok());
  EXPECT_EQ(admin::remove_pair(at, borrower.id).error().code, Code::not_found);
}

TEST_F(AdminOverTls, WithoutATokenIsRefused) {
  EXPECT_EQ(admin::fetch_state(at).error().code, Code::permission_denied);
}

TEST_F(AdminOverTls, ACertificateOfNobodyKnownIsNamed) {
  make_certificate(dir / "another.pem", dir / "another.key");
  for (const std::string& file : {dir / "another.pem", dir / "none", std::string()}) {
    trust(file);
    const auto asked = admin::fetch_info(at);
    ASSERT_FALSE(asked.ok()) << file;
    EXPECT_EQ(asked.error().code, Code::failed_precondition) << file;
    EXPECT_THAT(asked.error().message, HasSubstr("AQUA_CA_FILE"));
  }
}

TEST_F(AdminOverTls, ACertificateOfAnotherNameIsRefused) {
  // It is for 127.0.0.1, which localhost leads to as well.
  std::string by_name = at;
  by_name.replace(by_name.find("127.0.0.1"), 9, "localhost");
  const auto asked = admin::fetch_info(by_name);
  ASSERT_FALSE(asked.ok());
  EXPECT_EQ(asked.error().code, Code::failed_precondition);
  EXPECT_THAT(asked.error().message, HasSubstr("https://localhost:"));
}

TEST_F(AdminOverTls, NobodyThereIsUnavailable) {
  daemon.unix_socket.daemon.kill();
  EXPECT_EQ(admin::fetch_info(at).error().code, Code::unavailable);
}

}  // namespace
}  // namespace aqua::testing
