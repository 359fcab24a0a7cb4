// SPDX-License-Identifier: Apache-2.0
// The exchange socket under processes of its own user that take what they can get.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lending/exchange_client.hpp"
#include "lending/exchange_server.hpp"
#include "tests/lending/raw_client.hpp"
#include "tests/lending/support.hpp"

namespace aqua::lending {
namespace {

constexpr std::uint32_t kGranted = 0;
const Fetch kAnySlab{{{1, 1, {}}}};
const GiveBack kMuchBack{std::vector<GiveBackEntry>(kMaxExchangeEntries, GiveBackEntry{1, 1})};

class ExchangeLimit : public ::testing::Test {
 protected:
  // Grants whatever is asked for.
  struct Generous final : ExchangeHandler {
    std::vector<ReplyEntry> on_fetch(const ClientId&, std::span<const FetchEntry> entries,
                                     std::vector<UniqueFd>&) override {
      return std::vector<ReplyEntry>(entries.size());
    }
    std::vector<ReplyEntry> on_give_back(const ClientId&,
                                         std::span<const GiveBackEntry> entries) override {
      const MutexLock lock(gate);
      return std::vector<ReplyEntry>(entries.size());
    }
    void on_dead(const ClientId&) override {}
    Mutex gate;  // held: a give_back holds the server up
  };
  void serve(const ExchangeLimits& limits) {
    auto server = ExchangeServer::open(path_.str(), handler_, limits);
    ASSERT_TRUE(succeeds(server));
    server_ = *std::move(server);
  }
  [[nodiscard]] std::unique_ptr<RawClient> connect() const {
    return std::make_unique<RawClient>(path_.str());
  }
  [[nodiscard]] std::unique_ptr<RawClient> greeted(const ClientId& id) const {
    auto client = connect();
    EXPECT_EQ(client->ask(Hello{id}), kGranted);
    return client;
  }
  [[nodiscard]] bool is_served() const {
    const auto client = connect();
    const bool sent = send_message(client->fd(), encode(Hello{me_}), {}, kPatience).ok();
    return sent && !client->closed_by_exporter();
  }

  // Doubles what this end may have on its way.
  [[nodiscard]] static bool can_ask_more_than_is_answered(int fd) {
    int before = 0;
    int after = 0;
    socklen_t length = sizeof before;
    return ::getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &before, &length) == 0 &&
           ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &before, length) == 0 &&
           ::getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &after, &length) == 0 && after > before;
  }

  const ClientId me_ = random_id<ClientTag>();
  SocketPath path_;
  Generous handler_;
  std::unique_ptr<ExchangeServer> server_;
};

TEST_F(ExchangeLimit, SilentConnectionsMakeRoomTheOldestFirst) {
  serve({.connections = 8, .of_one_process = 100});
  std::vector<std::unique_ptr<RawClient>> silent;
  for (int i = 0; i < 8; ++i) silent.push_back(connect());
  const auto client = greeted(me_);
  EXPECT_TRUE(silent.front()->closed_by_exporter());
  EXPECT_EQ(silent.back()->ask(Hello{me_}), kGranted);
}

TEST_F(ExchangeLimit, WhoHasBeenGrantedSlabsMakesRoomForNobody) {
  serve({.connections = 8, .of_one_process = 100});
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 8; ++i) clients.push_back(greeted(me_));
  ASSERT_EQ(clients.front()->ask(kAnySlab), kGranted);
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(connect()->closed_by_exporter());
  for (const auto& client : clients) EXPECT_EQ(client->ask(kAnySlab), kGranted);
  clients.resize(4);
  EXPECT_TRUE(eventually([&] { return is_served(); }));
}

TEST_F(ExchangeLimit, OneProcessHasSoManyConnectionsAndNoMore) {
  serve({.connections = 100, .of_one_process = 8});
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 8; ++i) clients.push_back(greeted(me_));
  EXPECT_TRUE(connect()->closed_by_exporter());
  EXPECT_EQ(clients.front()->ask(Hello{me_}), kGranted);
  clients.pop_back();
  EXPECT_TRUE(eventually([&] { return is_served(); }));
}

TEST_F(ExchangeLimit, OneProcessHasSoManyIdsAndNoMore) {
  serve({.connections = 100, .of_one_process = 8});
  for (int i = 0; i < 8; ++i) EXPECT_EQ(greeted(random_id<ClientTag>())->ask(kAnySlab), kGranted);
  EXPECT_EQ(greeted(random_id<ClientTag>())->ask(kAnySlab),
            to_reply_code(Code::resource_exhausted));
}

TEST_F(ExchangeLimit, AHelloCostsNoDescriptorAndAConnectionKeepsItsId) {
  serve({});
  const auto client = greeted(me_);
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(client->ask(Hello{random_id<ClientTag>()}), to_reply_code(Code::failed_precondition));
  }
  EXPECT_EQ(client->ask(kAnySlab), kGranted);
  EXPECT_EQ(open_descriptors(), before + 1) << "the pidfd of a holder";
}

// Each of them has asked for more answers than fit its queue: were they waited for, all would be in
// the same round of the server's.
TEST_F(ExchangeLimit, AnswersThatNobodyReadsHoldNobodyUp) {
  serve({.connections = 250, .of_one_process = 250});
  const auto honest = greeted(me_);
  std::vector<std::unique_ptr<RawClient>> deaf;
  for (int i = 0; i < 200; ++i) {
    deaf.push_back(greeted(me_));
    ASSERT_EQ(deaf.back()->ask(kAnySlab), kGranted);
    ASSERT_TRUE(can_ask_more_than_is_answered(deaf.back()->fd()));
  }
  {
    const MutexLock lock(handler_.gate);
    const auto request = encode(kMuchBack);
    for (const auto& client : deaf) {
      while (send_message(client->fd(), request, {}, std::chrono::milliseconds{0}).ok()) continue;
    }
  }
  // The server answers each of them once between two answers to the honest one.
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(honest->ask(Hello{me_}), kGranted) << i;
}

// In a socket folder of ours, yet root's memory is not for the one who listens there.
TEST_F(ExchangeLimit, ASocketOfAnotherUsersIsNotTalkedTo) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be two users";
  constexpr uid_t kStranger = 65534;
  const UniqueFd listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path_.str().copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::seteuid(kStranger), 0);
  const int listening = ::listen(listener.get(), 8);  // notes whose it is
  ASSERT_EQ(::seteuid(0), 0);
  ASSERT_EQ(listening, 0);
  ExchangeClient client(path_.str(), me_);
  EXPECT_CODE(Code::permission_denied, client.fetch(kAnySlab.entries));
}

}  // namespace
}  // namespace aqua::lending
