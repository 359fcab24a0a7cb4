// The whole profiler against a live server whose truth is an offline simulation. Slow, and its
// figures are a matter of the machine's peace: AQUA_PROFILE_RUNS says how many runs, none without.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "profile/sim_server.hpp"
#include "profile/truth.hpp"
#include "sim/text.hpp"
#include "tools/profile_command.hpp"

namespace aqua::profiler {
namespace {

using test::SimServer;

constexpr double kSpeed = 20;
constexpr std::uint64_t kRequests = 1000;

class LiveTruth : public testing::Test {
 protected:
  LiveTruth() {
    char pattern[] = "/tmp/aqua-profile-XXXXXX";
    directory_ = ::mkdtemp(pattern);
    std::ofstream out(directory_ / "lengths.csv");
    out << "num_prefill_tokens,num_decode_tokens\n";
    for (const sim::Request& request : trace_.requests)
      out << request.prompt_tokens << ',' << request.output_tokens << '\n';
  }
  ~LiveTruth() override { std::filesystem::remove_all(directory_); }

  tool::ProfileOptions options(const SimServer& server) const {
    tool::ProfileOptions options;
    options.url = server.url();
    options.json = directory_ / "profile.json";
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

int runs_wanted() {
  const char* runs = std::getenv("AQUA_PROFILE_RUNS");
  return runs == nullptr ? 0 : std::atoi(runs);
}

TEST_F(LiveTruth, IsFoundWithinAStepInNineteenOfTwentyRuns) {
  const int runs = runs_wanted();
  if (runs == 0) GTEST_SKIP() << "AQUA_PROFILE_RUNS is not set: minutes, on a machine at peace";
  const RateRange range{};
  const double truth = test::truth(ground_, trace_, range, kRequests);
  int within = 0;
  for (int run = 1; run <= runs; ++run) {
    const SimServer server(ground_, kSpeed);
    tool::ProfileOptions wanted = options(server);
    wanted.seed = static_cast<std::uint64_t>(run);
    wanted.sla = {};
    wanted.requests = kRequests;
    const auto said = tool::run_profile(wanted, {});
    ASSERT_TRUE(said.ok()) << said.error().message;
    const auto profile = read_profile(wanted.json);
    ASSERT_TRUE(profile.ok()) << profile.error().message;
    const auto record = parse_record(sim::test::must(sim::read_file(wanted.json))).value();
    EXPECT_LE(record.evidence.probes.size(), 10u);
    EXPECT_TRUE(profile->complete);
    EXPECT_EQ(profile->role, ProfileRole::producer) << *said;
    within += std::abs(profile->max_rps - truth) <= range.step + 1e-9 ? 1 : 0;
    std::printf("run %d: %g requests/s, the truth is %g, %zu probes\n", run, profile->max_rps,
                truth, record.evidence.probes.size());
  }
  EXPECT_GE(within * 20, runs * 19);
}

TEST_F(LiveTruth, OfMemoryIsWhatTheRequestsInFlightTake) {
  const SimServer server(ground_, kSpeed);
  tool::ProfileOptions wanted = options(server);
  wanted.range = {.from = 2, .to = 2, .step = 1};
  const auto said = tool::run_profile(wanted, {});
  ASSERT_TRUE(said.ok()) << said.error().message;
  const auto record = parse_record(sim::test::must(sim::read_file(wanted.json))).value();
  const Probe& probe = record.evidence.probes.back();
  EXPECT_NEAR(probe.pool_bytes, ground_.kv_tokens * ground_.kv_bytes_per_token, 1e8);
  EXPECT_GT(probe.client_bytes, 0);
  EXPECT_GT(probe.peak_bytes, 0);
  // Blocks, and prompts of which only a part is computed, are more than the client counts.
  EXPECT_LT(probe.client_bytes, 3 * probe.peak_bytes);
}

TEST_F(LiveTruth, StoppedLeavesWhatItHasAndIsResumed) {
  const SimServer server(ground_, kSpeed);
  tool::ProfileOptions wanted = options(server);
  wanted.requests = 40;
  wanted.range = {.from = 1, .to = 4, .step = 1};
  std::stop_source stop;
  std::thread stopper([&] {
    // As soon as the first probe is on disk.
    while (!std::filesystem::exists(wanted.json)) std::this_thread::yield();
    stop.request_stop();
  });
  const auto said = tool::run_profile(wanted, stop.get_token());
  stopper.join();
  ASSERT_FALSE(said.ok());
  EXPECT_EQ(said.error().code, Code::cancelled) << said.error().message;
  const auto partial = read_profile(wanted.json);
  ASSERT_TRUE(partial.ok()) << partial.error().message;
  EXPECT_FALSE(partial->complete);
  wanted.resume = true;
  const auto resumed = tool::run_profile(wanted, {});
  ASSERT_TRUE(resumed.ok()) << resumed.error().message;
  EXPECT_TRUE(read_profile(wanted.json).value().complete);
  wanted.requests = 50;
  const auto other = tool::run_profile(wanted, {});
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, Code::failed_precondition) << other.error().message;
}

}  // namespace
}  // namespace aqua::profiler
