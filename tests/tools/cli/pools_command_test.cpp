// SPDX-License-Identifier: Apache-2.0
// aqua pools: its command line, and what it does and says over a real keeper.
#include "tools/cli/pools/pools_command.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "aqua/emulated.hpp"
#include "tests/handoff/stamped_pool.hpp"
#include "tests/keeper/keeper_process.hpp"

namespace aqua::tool {
namespace {

using namespace std::chrono_literals;
using test::KeeperProcess;
using Words = std::vector<std::string_view>;

class Pools : public ::testing::Test {
 protected:
  // Parses and runs it with the keeper of this test; the text it prints.
  Result<std::string> run(Words words) {
    words.insert(words.end(), {"--keeper", socket_});
    auto command = parse_pools(words);
    if (!command.ok()) return std::move(command).error();
    return run_pools(*command);
  }
  std::string said(const Words& words) {
    const auto text = run(words);
    return text.ok() ? *text : text.error().message;
  }
  nlohmann::json only_pool() {
    const auto all = nlohmann::json::parse(said({"--json"})).at("pools");
    return all.size() == 1 ? all[0] : nlohmann::json();
  }

  // Opens a parcel, which the keeper knows of when this returns.
  static void open(KvPool& pool, const std::string& id) {
    const auto number = pool.open({.id = id, .turn = 1}, "decode");
    ASSERT_TRUE(number.ok());
    while (pool.state(*number).value() != ParcelState::open) ASSERT_TRUE(pool.wait(60s));
  }

  KeeperProcess keeper_;
  const std::string socket_ = keeper_.socket();
  Runtime gpu_ = open_small_gpu();
};

TEST_F(Pools, AreListedAndAParcelThatWaitsIsCancelled) {
  EXPECT_EQ(said({}), "the keeper has no pools\n");
  const Stream stream = emulated::create_stream(gpu_).value();
  auto pool = std::make_optional(KvPool::attach(gpu_, small_pool(socket_, "prefill")).value());
  auto blocks = pool->allocate(3);
  while (!blocks.ok() && pool->wait(60s)) blocks = pool->allocate(3);
  ASSERT_TRUE(pool->hand_over({.id = "7", .blocks = *blocks, .tokens = 12}, "decode", stream).ok());
  pool.reset();  // once what was handed over is the keeper's
  EXPECT_NE(said({"list"}).find("small                           0"), std::string::npos)
      << said({"list"});
  EXPECT_EQ(only_pool().at("offered"), 3);
  EXPECT_EQ(only_pool().at("waiting"), 1);
  EXPECT_EQ(run({"cancel", "--pool", "small", "--id", "8"}).error().code, Code::not_found);
  EXPECT_EQ(nlohmann::json::parse(said({"cancel", "--pool", "small", "--id", "7", "--json"})),
            nlohmann::json({{"pool", "small"}, {"cancelled", "7"}}));
  EXPECT_EQ(said({}), "the keeper has no pools\n") << "nobody is a member, and nothing waits";
  ASSERT_TRUE(emulated::destroy_stream(gpu_, stream).ok());
}

TEST_F(Pools, ParcelsThatHaveNotEndedAreListedWithTheirAgesAndIds) {
  KvPool pool = KvPool::attach(gpu_, small_pool(socket_, "prefill")).value();
  const auto parcels = [&] {
    return nlohmann::json::parse(said({"parcels", "--json"})).at("parcels");
  };
  EXPECT_EQ(said({"parcels"}), "no parcels\n");
  open(pool, "request 7");
  ASSERT_EQ(parcels().size(), 1U);
  const auto first = parcels().at(0);
  EXPECT_EQ(first.at("pool"), "small");
  EXPECT_EQ(first.at("id"), "request 7");
  EXPECT_EQ(first.at("state"), "open");
  EXPECT_EQ(first.at("giver_pid"), ::getpid());
  EXPECT_EQ(first.at("taker_pid"), 0);
  EXPECT_GE(parcels().at(0).at("seconds"), first.at("seconds")) << "it grows older";
  const auto text = said({"parcels", "--pool", "small"});
  EXPECT_NE(text.find("from prefill (process "), std::string::npos) << text;
  EXPECT_NE(text.find("to decode, turn 1, 'request 7'"), std::string::npos) << text;
  const auto metrics = said({"list", "--metrics"});
  EXPECT_NE(metrics.find("aqua_keeper_parcels_being_given{pool=\"small\"} 1\n"), std::string::npos)
      << metrics;
  EXPECT_NE(metrics.find("aqua_keeper_parcels_complete{pool=\"small\"} 0\n"), std::string::npos);
  EXPECT_NE(said({"cancel", "--pool", "small", "--id", "request 7"}).find("is cancelled"),
            std::string::npos);
  EXPECT_TRUE(parcels().empty());
  EXPECT_EQ(run({"parcels", "--pool", "large"}).error().code, Code::not_found);
}

TEST_F(Pools, MoreParcelsThanOnePacketNamesAreListed) {
  KvPool pool = KvPool::attach(gpu_, small_pool(socket_, "prefill")).value();
  for (int i = 0; i < 70; ++i) open(pool, "r" + std::to_string(i));
  const auto all = nlohmann::json::parse(said({"parcels", "--json"})).at("parcels");
  ASSERT_EQ(all.size(), 70U);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].at("id"), "r" + std::to_string(i));
}

TEST_F(Pools, WhatIsQuarantinedIsShownAndReleasedByName) {
  const KvPool pool = KvPool::attach(gpu_, small_pool(socket_, "prefill")).value();
  EXPECT_EQ(only_pool().at("quarantined"), 0);
  EXPECT_NE(said({}).find("quarantined"), std::string::npos);
  EXPECT_EQ(said({"release", "--pool", "small"}), "what was quarantined of small is free\n");
  EXPECT_EQ(run({"release", "--pool", "large"}).error().code, Code::not_found);
}

TEST_F(Pools, QuotasAreShownAndMovedBySlabs) {
  KvPoolOptions options = small_pool(socket_, "prefill");
  options.shape.plane_block_bytes = (std::size_t{8} << 20) / kPoolBlocks / 4;  // four slabs
  options.quota_blocks = 20;
  const KvPool prefill = KvPool::attach(gpu_, options).value();
  options.role = "decode";
  options.quota_blocks = 8;
  options.reserve = 0;
  const KvPool decode = KvPool::attach(gpu_, options).value();
  EXPECT_NE(said({}).find("\n  prefill has 4 of at most 20 blocks\n"), std::string::npos)
      << said({});
  EXPECT_EQ(
      said({"quota", "--pool", "small", "--from", "prefill", "--to", "decode", "--slabs", "1"}),
      "decode may have the blocks of 1 slabs that prefill might have\n");
  EXPECT_EQ(only_pool().at("quotas"),
            nlohmann::json({{{"role", "decode"}, {"blocks", 24}, {"had", 0}},
                            {{"role", "prefill"}, {"blocks", 4}, {"had", 4}}}));
  EXPECT_EQ(run({"quota", "--pool", "small", "--from", "prefill", "--to", "decode", "--slabs", "1"})
                .error()
                .code,
            Code::resource_exhausted);
}

TEST_F(Pools, OneWithMembersIsNotRemoved) {
  auto pool = std::make_optional(KvPool::attach(gpu_, small_pool(socket_, "prefill")).value());
  EXPECT_EQ(run({"remove", "--pool", "small"}).error().code, Code::failed_precondition);
  EXPECT_EQ(run({"remove", "--pool", "large"}).error().code, Code::not_found);
  EXPECT_EQ(only_pool().at("members"), 1);
}

TEST_F(Pools, WithoutAKeeperTheSocketIsNamed) {
  keeper_.stop();
  const auto text = run({});
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().code, Code::unavailable);
  EXPECT_NE(text.error().message.find(socket_), std::string::npos);
}

TEST(PoolsLine, WrongArgumentsAreNamed) {
  const std::pair<Words, const char*> wrong[] = {
      {{"drain"}, "no action 'drain'"},
      {{"cancel", "--id", "7"}, "needs --pool"},
      {{"cancel", "--pool", "p"}, "needs --id"},
      {{"remove"}, "needs --pool"},
      {{"parcels", "--metrics"}, "--metrics goes with list alone"},
      {{"list", "--metrics", "--json"}, "--metrics goes with list alone"},
      {{"release"}, "needs --pool"},
      {{"quota", "--pool", "p", "--from", "a", "--to", "b"}, "needs --from, --to and --slabs"},
  };
  for (const auto& [words, message] : wrong) {
    const auto command = parse_pools(words);
    ASSERT_FALSE(command.ok()) << message;
    EXPECT_EQ(command.error().code, Code::invalid_argument);
    EXPECT_NE(command.error().message.find(message), std::string::npos) << command.error().message;
  }
}

}  // namespace
}  // namespace aqua::tool
