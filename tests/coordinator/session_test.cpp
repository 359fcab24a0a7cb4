// SPDX-License-Identifier: Apache-2.0
// Who may say what: the lifeline and the secrets it gives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <span>

#include "base/socket/unix_socket.hpp"
#include "tests/coordinator/daemon_process.hpp"
#include "tests/coordinator/raw_session.hpp"
#include "tests/southbound/peers.hpp"
#include "wire/error.hpp"
#include "wire/limits.hpp"

namespace aqua::testing {
namespace {

using ::testing::HasSubstr;

struct SessionTest : ::testing::Test {
  DaemonProcess daemon;
};

TEST_F(SessionTest, GuessedOrMissingSecretIsUnauthenticated) {
  const RawSession session(daemon.address(), daemon.lifeline());
  ASSERT_EQ(session.join().status, 200);
  for (const auto& secret : {std::optional<SessionSecret>(), std::optional(random_id<SessionTag>()),
                             std::optional(SessionSecret{})}) {
    const auto reply = ask(daemon.address(), {"POST", "/v1/clients/self/renew", secret, {}});
    EXPECT_EQ(reply.status, 401);
    EXPECT_EQ(code_of(reply), Code::permission_denied);
  }
  EXPECT_EQ(session.call("POST", "/v1/clients/self/renew").status, 200);
}

TEST_F(SessionTest, NobodyJoinsUnderAnotherId) {
  const RawSession session(daemon.address(), daemon.lifeline());
  RawSession forged(daemon.address(), daemon.lifeline());
  forged.id = session.id;
  const auto reply = forged.join();
  EXPECT_EQ(reply.status, 403);
  EXPECT_EQ(code_of(reply), Code::permission_denied);
}

TEST_F(SessionTest, PidIsTheKernelsWhateverTheBodySays) {
  const RawSession session(daemon.address(), daemon.lifeline());
  wire::JoinRequest request;
  request.info.id = session.id;
  request.info.consumer = true;
  request.info.pid = 1;
  ASSERT_EQ(session.call("POST", "/v1/clients", wire::encode(request)).status, 200);
  const auto state = wire::decode<wire::State>(session.call("GET", "/v1/state").body);
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(state->clients.at(0).info.pid, ::getpid());
}

TEST_F(SessionTest, SameProcessMayReconnectAndItsFormerSecretIsOver) {
  RawSession session(daemon.address(), daemon.lifeline());
  ASSERT_EQ(session.join().status, 200);
  auto again = connect_lifeline(daemon.lifeline(), session.id);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(session.call("POST", "/v1/clients/self/renew").status, 401);
  session.lifeline = std::move(again).value();
  EXPECT_EQ(session.call("POST", "/v1/clients/self/renew").status, 200);
}

TEST_F(SessionTest, AnotherLiveProcessCannotTakeTheId) {
  Peer producer(daemon.address(), "producer", true);
  ASSERT_TRUE(producer.client->offer(some_slabs(1)).ok());
  const auto id = random_id<ClientTag>();
  ChildProcess owner({AQUA_TEST_CLIENT_PROGRAM, "lease", daemon.address(), to_string(id),
                      std::to_string(kSlabBytes)});
  ASSERT_EQ(owner.read_line(), "leased 1");
  const auto taken = connect_lifeline(daemon.lifeline(), id);
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().code, Code::permission_denied);
  EXPECT_THAT(taken.error().message, HasSubstr("which is alive"));
  owner.signal(SIGKILL);
  owner.wait();
  EXPECT_TRUE(connect_lifeline(daemon.lifeline(), id).ok());
}

TEST_F(SessionTest, OldSecretIsWorthNothingAfterARestart) {
  const RawSession session(daemon.address(), daemon.lifeline());
  ASSERT_EQ(session.join().status, 200);
  daemon.kill();
  daemon.start();
  EXPECT_EQ(session.call("POST", "/v1/clients/self/renew").status, 401);
}

TEST_F(SessionTest, BadHelloIsRefusedWithTheField) {
  for (const auto& [hello, named] :
       {std::pair<std::string, std::string>{"nonsense", "body"},
        {R"({"version":1,"client":"short"})", "client"},
        {R"({"version":99,"client":"0123456789abcdef0123456789abcdef"})", "version 99"},
        {std::string(wire::kMaxHelloBytes + 1, 'x'), "longer"}}) {
    const UniqueFd fd = connect_seqpacket(daemon.lifeline()).value();
    ASSERT_TRUE(
        send_message(fd.get(), std::as_bytes(std::span(hello)), {}, std::chrono::seconds{10}).ok());
    const auto answer = receive_message(fd.get(), wire::kMaxHelloBytes, std::chrono::seconds{60});
    ASSERT_TRUE(answer.ok());
    const auto error = wire::decode<wire::ErrorReply>(
        {reinterpret_cast<const char*>(answer->bytes.data()), answer->bytes.size()});
    ASSERT_TRUE(error.ok());
    EXPECT_THAT(error->error.message, HasSubstr(named));
  }
}

TEST(Places, OfClientsAreSharedAmongProcesses) {
  DaemonProcess daemon({"--max-clients", "4"});
  std::vector<southbound::Lifeline> own;
  for (int i = 0; i < 2; ++i)
    own.push_back(connect_lifeline(daemon.lifeline(), random_id<ClientTag>()).value());
  const auto third = connect_lifeline(daemon.lifeline(), random_id<ClientTag>());
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.error().code, Code::resource_exhausted);
  EXPECT_THAT(third.error().message, HasSubstr("process"));
  ChildProcess another({AQUA_TEST_CLIENT_PROGRAM, "offer", daemon.address(),
                        to_string(random_id<ClientTag>()), "1"});
  EXPECT_EQ(another.read_line(), "offered 1");
}

TEST(Places, OfClientsAreSharedAmongUsersHoweverManyProcessesOneRuns) {
  DaemonProcess daemon({"--max-clients", "4"});
  const auto own = connect_lifeline(daemon.lifeline(), random_id<ClientTag>());
  ASSERT_TRUE(own.ok()) << own.error().message;
  std::vector<ChildProcess> others;
  for (int i = 0; i < 2; ++i) {
    others.push_back(ChildProcess({AQUA_TEST_CLIENT_PROGRAM, "offer", daemon.address(),
                                   to_string(random_id<ClientTag>()), "1"}));
    ASSERT_EQ(others.back().read_line(), "offered 1");
  }
  // One place is left, which is no more this user's, though this process has but one of its two.
  const auto fourth = connect_lifeline(daemon.lifeline(), random_id<ClientTag>());
  ASSERT_FALSE(fourth.ok());
  EXPECT_EQ(fourth.error().code, Code::resource_exhausted);
  EXPECT_THAT(fourth.error().message, HasSubstr("user"));
}

TEST(Lifelines, OfAProcessThatConnectsTooOftenAreClosedAndAnotherOneEnters) {
  DaemonProcess daemon({"--max-process-rate", "10"});
  constexpr int kTries = 60;
  int entered = 0;
  for (int i = 0; i < kTries; ++i)
    entered += connect_lifeline(daemon.lifeline(), random_id<ClientTag>()).ok() ? 1 : 0;
  EXPECT_GE(entered, 10);
  EXPECT_LT(entered, kTries);
  ChildProcess another({AQUA_TEST_CLIENT_PROGRAM, "offer", daemon.address(),
                        to_string(random_id<ClientTag>()), "1"});
  EXPECT_EQ(another.read_line(), "offered 1");
}

TEST_F(SessionTest, SilentConnectionsGiveWayToWhoComesAfterThem) {
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 200; ++i) silent.push_back(connect_seqpacket(daemon.lifeline()).value());
  EXPECT_TRUE(connect_lifeline(daemon.lifeline(), random_id<ClientTag>()).ok());
}

TEST_F(SessionTest, SilentConnectionIsClosedAndHoldsUpNobody) {
  const UniqueFd silent = connect_seqpacket(daemon.lifeline()).value();
  EXPECT_TRUE(connect_lifeline(daemon.lifeline(), random_id<ClientTag>()).ok());
  const auto end = receive_message(silent.get(), 16, std::chrono::seconds{60});
  ASSERT_TRUE(end.ok());
  EXPECT_TRUE(end->bytes.empty());
}

}  // namespace
}  // namespace aqua::testing
