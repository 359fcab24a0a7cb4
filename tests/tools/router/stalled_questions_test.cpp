// SPDX-License-Identifier: Apache-2.0
// Engines whose answers to short questions never end: silent ones, and ones that say a byte now and
// then. Neither a client nor the router's own end waits for them.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <csignal>
#include <future>

#include "base/unique_fd.hpp"
#include "tests/loopback_socket.hpp"
#include "tests/tools/router/live.hpp"
#include "tests/tools/router/scripted_engine.hpp"
#include "tools/http/http_client.hpp"
#include "tools/router/fleet/engine.hpp"

namespace aqua::router::test {
namespace {

using namespace std::chrono_literals;

TEST(StalledQuestions, HealthAndFactsHaveATimeThatBytesDoNotRenew) {
  for (const char* path : {"/health", "/v1/models"}) {
    ScriptedEngine engine;
    engine.stall_at(path, ScriptedEngine::Stall::drips);
    const EngineEndpoint endpoint = parse_engine("a=" + engine.url()).value();
    auto asked = std::async(std::launch::async, [&] {
      return path == std::string("/health") ? ask_health(endpoint, {}).error().code
                                            : ask_facts(endpoint, {}).error().code;
    });
    ASSERT_EQ(asked.wait_for(30s), std::future_status::ready) << path;
    EXPECT_EQ(asked.get(), Code::deadline_exceeded) << path;
  }
}

// A lost SYN looks the same: nobody knows of the engine that it is dead.
TEST(StalledQuestions, AnEngineThatTakesNoConnectionIsLateAndNotDead) {
  const aqua::testing::LoopbackSocket engine;
  ASSERT_EQ(::listen(engine.fd.get(), 0), 0) << "one connection may wait";
  const UniqueFd waits(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  socklen_t length = sizeof address;
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::getsockname(engine.fd.get(), plain, &length), 0);
  ASSERT_EQ(::connect(waits.get(), plain, length), 0);
  pollfd one_waits{engine.fd.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&one_waits, 1, 60'000), 1);
  const auto endpoint = parse_engine("a=http://127.0.0.1:" + std::to_string(engine.port)).value();
  EXPECT_EQ(ask_health(endpoint, {}).error().code, Code::deadline_exceeded);
  EXPECT_EQ(ask_facts(endpoint, {}).error().code, Code::deadline_exceeded);
  http::HttpClient patient(endpoint.url, {.timeout = 1s});  // whose calls have no limit as a whole
  EXPECT_EQ(patient.get("/health").error().code, Code::deadline_exceeded);
}

// A client whose prompt is text, which the engine never cuts.
class StalledTokenizer : public ::testing::TestWithParam<ScriptedEngine::Stall> {
 protected:
  StalledTokenizer() {
    engine_.stall_at("/tokenize", GetParam());
    client_ = std::async(std::launch::async, [this] {
      const Json body{{"prompt", "hello"}, {"max_tokens", 5}};
      return asks_.post("/v1/completions", body.dump(), [this](std::string_view bytes, auto) {
        told_ += bytes;
        return http::Heard::something;
      });
    });
    EXPECT_TRUE(becomes([&] { return engine_.stalled == 1; }));
  }
  [[nodiscard]] bool router_has_ended() const {
    siginfo_t info{};
    const auto pid = static_cast<id_t>(router_.child.pid());
    return ::waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
  }

  ScriptedEngine engine_;
  RouterProcess router_{{engine_.url()}, {"--drain-timeout", "1"}};
  http::HttpClient asks_{http::parse_url(router_.url()).value(), {.timeout = 200s}};
  std::string told_{};
  std::future<Result<http::Reply>> client_;
};

TEST_P(StalledTokenizer, ClientsThatGoAreNotWaitedFor) {
  asks_.stop();
  EXPECT_EQ(client_.get().error().code, Code::cancelled);
  EXPECT_TRUE(
      becomes([&] { return router_.metric("aqua_router_requests_total", "client_gone") == 1; }));
  EXPECT_EQ(engine_.stalled, 1) << "no other engine is asked for it";
}

TEST_P(StalledTokenizer, ARouterThatStopsEndsTheQuestion) {
  router_.child.signal(SIGTERM);
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_TRUE(becomes([&] { return router_has_ended(); }));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 20s) << "not the time of the question";
  const auto reply = client_.get();
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_EQ(reply->status, 503);
  EXPECT_NE(reply->body.find("the router is stopping"), std::string::npos) << reply->body;
}

INSTANTIATE_TEST_SUITE_P(Engines, StalledTokenizer,
                         ::testing::Values(ScriptedEngine::Stall::drips,
                                           ScriptedEngine::Stall::is_silent),
                         [](const auto& stall) {
                           return stall.param == ScriptedEngine::Stall::drips
                                      ? std::string("ThatDrip")
                                      : std::string("ThatAreSilent");
                         });

}  // namespace
}  // namespace aqua::router::test
