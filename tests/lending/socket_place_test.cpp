// SPDX-License-Identifier: Apache-2.0
// Where an exchange socket may be opened, and where not.
#include <gtest/gtest.h>

#include <fstream>

#include "lending/exchange_server.hpp"
#include "tests/lending/raw_client.hpp"
#include "tests/lending/support.hpp"

namespace aqua::lending {
namespace {

class SocketPlace : public ::testing::Test {
 protected:
  struct Nobody final : ExchangeHandler {
    std::vector<ReplyEntry> on_fetch(const ClientId&, std::span<const FetchEntry>,
                                     std::vector<UniqueFd>&) override {
      return {};
    }
    std::vector<ReplyEntry> on_give_back(const ClientId&, std::span<const GiveBackEntry>) override {
      return {};
    }
    void on_dead(const ClientId&) override {}
  };
  Nobody handler_;
  SocketPath path_;
};

TEST_F(SocketPlace, TooLongIsRefused) {
  EXPECT_CODE(Code::invalid_argument,
              ExchangeServer::open("/tmp/" + std::string(103, 'x'), handler_));
  EXPECT_CODE(Code::invalid_argument, ExchangeServer::open("", handler_));
}

TEST_F(SocketPlace, TakenIsRefusedAndTheOwnerUndisturbed) {
  const auto first = ExchangeServer::open(path_.str(), handler_);
  ASSERT_TRUE(succeeds(first));
  EXPECT_CODE(Code::already_exists, ExchangeServer::open(path_.str(), handler_));
  RawClient client(path_.str());
  EXPECT_EQ(client.ask(Hello{random_id<ClientTag>()}), 0U);
}

TEST_F(SocketPlace, LeftByADeadServerIsTakenOver) {
  { const UniqueFd listener = listen_seqpacket(path_.str()).value(); }  // closed, the file stays
  EXPECT_TRUE(succeeds(ExchangeServer::open(path_.str(), handler_)));
}

TEST_F(SocketPlace, OrdinaryFilesAreNotTouched) {
  { std::ofstream(path_.str()) << "precious"; }
  EXPECT_CODE(Code::already_exists, ExchangeServer::open(path_.str(), handler_));
  std::string text;
  std::ifstream(path_.str()) >> text;
  EXPECT_EQ(text, "precious");
}

TEST_F(SocketPlace, IsFreeAgainWhenTheServerStops) {
  { ASSERT_TRUE(succeeds(ExchangeServer::open(path_.str(), handler_))); }
  EXPECT_CODE(Code::unavailable, connect_seqpacket(path_.str()));
  EXPECT_TRUE(succeeds(ExchangeServer::open(path_.str(), handler_)));
}

}  // namespace
}  // namespace aqua::lending
