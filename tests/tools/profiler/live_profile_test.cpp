// SPDX-License-Identifier: Apache-2.0
// The whole profiler against a live, simulated engine: what a busy machine cannot change. Whether
// the rate that it finds is true, bench/profile_bench.cpp asks.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/read_file.hpp"
#include "base/unique_fd.hpp"
#include "tests/tools/profiler/truth.hpp"
#include "tests/tools/sim/ground.hpp"
#include "tools/cli/profile/profile_command.hpp"
#include "tools/profiler/load/answer.hpp"
#include "tools/report/text.hpp"
#include "tools/sim_server/sim_server.hpp"

namespace aqua::profiler {
namespace {

using tool::SimServer;

constexpr double kSpeed = 20;

class LiveProfile : public ::testing::Test {
 protected:
  LiveProfile() {
    char pattern[] = "/tmp/aqua-profile-XXXXXX";
    directory_ = ::mkdtemp(pattern);
    std::ofstream out(directory_ / "lengths.csv");
    out << "num_prefill_tokens,num_decode_tokens\n";
    for (const sim::TraceRequest& request : trace_.requests)
      out << request.prompt_tokens << ',' << request.output_tokens << '\n';
  }
  ~LiveProfile() override { std::filesystem::remove_all(directory_); }

  tool::ProfileOptions options(const SimServer& server) const {
    tool::ProfileOptions options;
    options.url = server.url();
    options.out = directory_ / "profile.json";
    options.html = directory_ / "profile.html";
    options.trace = directory_ / "lengths.csv";
    options.speed = kSpeed;
    options.requests = 200;
    options.memory.bytes_per_token = ground_.kv_bytes_per_token;
    options.progress = false;
    options.sla = {.ttft_s = 60, .tbt_s = 20};  // a busy machine meets it, at kSpeed
    return options;
  }

  const sim::Ground ground_ = test::truth_ground();
  const sim::Trace trace_ = test::truth_trace();
  std::filesystem::path directory_;
};

TEST_F(LiveProfile, MemoryIsWhatTheRequestsInFlightTake) {
  const SimServer server(ground_, kSpeed);
  tool::ProfileOptions wanted = options(server);
  wanted.range = {.from = 2, .to = 2, .step = 1};
  const auto said = tool::run_profile(wanted, {});
  ASSERT_TRUE(said.ok()) << said.error().message;
  const auto record = parse_record(sim::test::must(read_file(wanted.out))).value();
  const Probe& probe = record.evidence.probes.back();
  EXPECT_NEAR(probe.pool_bytes, ground_.kv_tokens * ground_.kv_bytes_per_token, 1e8);
  EXPECT_GT(probe.client_bytes, 0);
  EXPECT_GT(probe.peak_bytes, 0);
  // Blocks, and prompts of which only a part is computed, are more than the client counts.
  EXPECT_LT(probe.client_bytes, 3 * probe.peak_bytes);
}

TEST_F(LiveProfile, ARequestThatNeverFitsIsRefusedAtOnce) {
  const SimServer server(ground_, kSpeed);
  const EngineLink engine{.url = http::parse_url(server.url()).value(), .model = "simulated"};
  HttpClient client(engine.url, engine.http);
  const Answer answer =
      ask_engine(client, engine, {.prompt_tokens = 1, .output_tokens = 2'000'000'000}, 1,
                 [](Clock::time_point) { return true; });
  EXPECT_EQ(answer.fault, "the engine failed: larger than all of the KV memory");
}

TEST_F(LiveProfile, AnAnswersOnlyTokenMayBeNoText) {
  const SimServer server(ground_, kSpeed);
  const EngineLink engine{.url = http::parse_url(server.url()).value(), .model = "simulated"};
  HttpClient client(engine.url, engine.http);
  for (std::uint64_t seed = 0; seed < 100; ++seed) {  // of which some are half a character
    int tokens = 0;
    const Answer answer = ask_engine(client, engine, {.prompt_tokens = 1, .output_tokens = 1}, seed,
                                     [&](Clock::time_point) { return ++tokens > 0; });
    EXPECT_EQ(answer.fault, "");
    EXPECT_EQ(tokens, 1) << seed;
  }
}

TEST_F(LiveProfile, StoppedLeavesWhatItHasAndIsResumed) {
  const SimServer server(ground_, kSpeed);
  tool::ProfileOptions wanted = options(server);
  wanted.requests = 40;
  wanted.range = {.from = 1, .to = 4, .step = 1};
  // As soon as the first probe is on disk, or when the run has ended without.
  const UniqueFd written(::inotify_init1(IN_CLOEXEC)), ended(::eventfd(0, EFD_CLOEXEC));
  ASSERT_GE(::inotify_add_watch(written.get(), directory_.c_str(), IN_MOVED_TO), 0);
  std::stop_source stop;
  std::thread stopper([&] {
    std::array<pollfd, 2> either{{{written.get(), POLLIN, 0}, {ended.get(), POLLIN, 0}}};
    (void)::poll(either.data(), either.size(), -1);
    stop.request_stop();
  });
  const auto said = tool::run_profile(wanted, stop.get_token());
  EXPECT_EQ(::eventfd_write(ended.get(), 1), 0);
  stopper.join();
  ASSERT_FALSE(said.ok());
  EXPECT_EQ(said.error().code, Code::cancelled) << said.error().message;
  const auto partial = read_profile(wanted.out);
  ASSERT_TRUE(partial.ok()) << partial.error().message;
  EXPECT_FALSE(partial->complete);
  wanted.resume = true;
  const auto resumed = tool::run_profile(wanted, {});
  ASSERT_TRUE(resumed.ok()) << resumed.error().message;
  EXPECT_TRUE(read_profile(wanted.out).value().complete);
  wanted.requests = 50;
  const auto other = tool::run_profile(wanted, {});
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, Code::failed_precondition) << other.error().message;
}

}  // namespace
}  // namespace aqua::profiler
