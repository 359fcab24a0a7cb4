// SPDX-License-Identifier: Apache-2.0
// The exchange socket under callers of every manner.
#include "lending/exchange_server.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <optional>

#include "tests/lending/raw_client.hpp"
#include "tests/lending/support.hpp"

namespace aqua::lending {
namespace {

class Exchange : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kGranted = 0;
  Lender lender_{3};
  const ClientId me_ = random_id<ClientTag>();

  [[nodiscard]] Fetch fetch(std::size_t i) const {
    const SlabStatus slab = lender_.now(i);
    return {{{slab.index, slab.generation, slab.secret}}};
  }
  [[nodiscard]] GiveBack give_back(std::size_t i) const {
    return {{{lender_.now(i).index, lender_.now(i).generation}}};
  }
  // A whole conversation works.
  void expect_served() {
    RawClient client(lender_.path());
    EXPECT_EQ(client.ask(Hello{random_id<ClientTag>()}), kGranted);
  }
};

TEST_F(Exchange, NothingIsGrantedBeforeHello) {
  RawClient client(lender_.path());
  EXPECT_EQ(client.ask(fetch(0)), to_reply_code(Code::failed_precondition));
  EXPECT_EQ(client.ask(give_back(0)), to_reply_code(Code::failed_precondition));
  EXPECT_EQ(lender_.now(0).custody, Custody::free);
}

TEST_F(Exchange, AGrantCarriesOneDescriptorAnEntryAndARefusalNone) {
  RawClient client(lender_.path());
  ASSERT_EQ(client.ask(Hello{me_}), kGranted);
  Fetch two = fetch(0);
  two.entries.push_back(fetch(1).entries[0]);
  client.send(encode(two));
  EXPECT_EQ(client.receive().fds.size(), 2U);
  two.entries[1].generation = 7;
  client.send(encode(two));
  EXPECT_TRUE(client.receive().fds.empty());
}

TEST_F(Exchange, TwoConnectionsOfOneProcessAreOneClient) {
  RawClient first(lender_.path());
  RawClient second(lender_.path());
  EXPECT_EQ(first.ask(Hello{me_}), kGranted);
  EXPECT_EQ(second.ask(Hello{me_}), kGranted);
  EXPECT_EQ(first.ask(Hello{me_}), kGranted) << "and hello again";
  EXPECT_EQ(first.ask(fetch(0)), kGranted);
  EXPECT_EQ(second.ask(give_back(0)), kGranted);
}

TEST_F(Exchange, GarbageClosesThatConnectionOnly) {
  RawClient good(lender_.path());
  ASSERT_EQ(good.ask(Hello{me_}), kGranted);
  for (const std::size_t length : {1U, 7U, 8U, 24U, 2000U, 5000U}) {
    RawClient bad(lender_.path());
    bad.send(device::pattern(length, 3));
    EXPECT_TRUE(bad.closed_by_exporter()) << length;
  }
  EXPECT_EQ(good.ask(fetch(0)), kGranted);
}

TEST_F(Exchange, ARequestThatIsAnAnswerIsRefused) {
  RawClient client(lender_.path());
  EXPECT_EQ(client.ask(Reply{{{0, 1}}}), to_reply_code(Code::invalid_argument));
}

TEST_F(Exchange, DescriptorsThatNobodyAskedForAreClosed) {
  const std::size_t before = open_descriptors();
  {
    RawClient client(lender_.path());
    const std::vector<int> mine(100, client.fd());
    ASSERT_TRUE(send_message(client.fd(), encode(Hello{me_}), mine, kPatience).ok());
    EXPECT_FALSE(client.receive().bytes.empty());
  }
  EXPECT_TRUE(eventually([&] { return open_descriptors() == before; }));
}

TEST_F(Exchange, AClosedConnectionSaysNothingAboutWhatIsHeld) {
  {
    RawClient client(lender_.path());
    ASSERT_EQ(client.ask(Hello{me_}), kGranted);
    ASSERT_EQ(client.ask(fetch(0)), kGranted);
  }
  expect_served();
  EXPECT_EQ(lender_.now(0).custody, Custody::held);
  RawClient again(lender_.path());
  ASSERT_EQ(again.ask(Hello{me_}), kGranted);
  EXPECT_EQ(again.ask(give_back(0)), kGranted);
}

TEST_F(Exchange, RequestsPostedJustBeforeTheConnectionClosesAreAllHeard) {
  {
    RawClient client(lender_.path());
    ASSERT_EQ(client.ask(Hello{me_}), kGranted);
    for (std::size_t i = 0; i < 3; ++i) ASSERT_EQ(client.ask(fetch(i)), kGranted);
    for (std::size_t i = 0; i < 3; ++i) client.send(encode(give_back(i)));  // answers stay unread
  }
  for (int i = 0; i < 3; ++i) EXPECT_NE(lender_.freed().next().index, 0U);
}

TEST_F(Exchange, AConnectionWaitsUntilThereIsADescriptorForIt) {
  const std::string path = lender_.path();
  const auto hello = encode(Hello{me_});
  RawClient other(path);
  ASSERT_EQ(other.ask(Hello{me_}), kGranted);
  std::optional<FewDescriptors> few(1);
  RawClient client(path);  // takes it
  client.send(hello);
  // Between two answers to another client the new connection was looked at, in vain.
  for (int i = 0; i < 2; ++i) (void)other.ask(give_back(0));
  few.reset();
  EXPECT_FALSE(client.receive().bytes.empty());
}

TEST_F(Exchange, ItsSocketIsForItsOwnerOnly) {
  struct stat info {};
  ASSERT_EQ(::stat(lender_.path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
}

}  // namespace
}  // namespace aqua::lending
