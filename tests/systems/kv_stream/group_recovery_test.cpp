// SPDX-License-Identifier: Apache-2.0
// What a group's plan says is enough to plan a recovery by, and both go on from the same tokens.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "aqua/kv_stream/recovery.hpp"
#include "groups/plan.hpp"

namespace aqua::kv_stream::test {
namespace {

constexpr std::uint32_t kPrompt = 5;
constexpr std::uint32_t kDelivered = 6;
constexpr std::uint32_t kKnown = kPrompt + kDelivered;

ClientId client(std::uint32_t stage) {
  ClientId id;
  id.bytes.fill(static_cast<std::uint8_t>(stage + 1));
  return id;
}

// A pipeline whose members report at random what they have of all stages.
groups::Group random_group(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  groups::Group group;
  group.topology.decode = {.stages = 1 + static_cast<std::uint32_t>(random() % 4), .tensor = 1};
  for (const groups::Rank& rank : group.topology.ranks()) {
    groups::Member member{.client = client(rank.stage), .name = {}, .rank = rank, .marks = {}};
    for (const groups::Rank& of : group.topology.ranks()) {
      for (std::uint64_t sequence = 0; sequence < 3; ++sequence) {
        if (random() % 3 != 0) member.marks.push_back({of, sequence, random() % (kKnown + 2)});
      }
    }
    group.members[member.client] = member;
  }
  return group;
}

// The input by this plan, over links that take no time, so that all is read that can be.
RecoveryInput input_by(const groups::Plan& plan, std::uint32_t stages) {
  RecoveryInput in{.lost_workers = std::vector<bool>(stages),
                   .lost_keepers = std::vector<bool>(stages),
                   .token_bytes = std::vector<std::uint64_t>(stages, 1),
                   .link_bytes_per_second = 1e18,
                   .prefill_seconds_per_token = 1};
  for (const groups::Resume& resume : plan.resume) {
    SequenceState state{
        .sequence = resume.sequence,
        .prompt_tokens = kPrompt,
        .delivered = kDelivered,
        .cached = std::vector<std::uint32_t>(stages, static_cast<std::uint32_t>(resume.mark))};
    for (const groups::Restore& restore : plan.restore) {
      if (restore.sequence != resume.sequence) continue;
      state.cached[restore.rank.stage] = 0;
      state.replicas.push_back({.stage = restore.rank.stage,
                                .keeper = restore.from.bytes[0] - 1U,
                                .tokens = static_cast<std::uint32_t>(restore.mark)});
    }
    in.sequences.push_back(std::move(state));
  }
  return in;
}

TEST(GroupRecovery, GoesOnFromThePointOfTheGroupsPlanAndReadsWhatItNames) {
  std::size_t reads = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    const groups::Group group = random_group(seed);
    const groups::Plan told = groups::make_plan(group);
    const auto plan = plan_recovery(input_by(told, group.topology.decode.stages));
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    ASSERT_EQ(plan->sequences.size(), told.resume.size());
    for (const Resumed& resumed : plan->sequences) {
      const auto resume =
          std::ranges::find(told.resume, resumed.sequence, &groups::Resume::sequence);
      ASSERT_NE(resume, told.resume.end());
      ASSERT_EQ(resumed.from, std::min<std::uint64_t>(resume->mark, kKnown - 1)) << seed;
      for (const Replica& read : resumed.reads) {
        ++reads;
        ASSERT_TRUE(std::ranges::any_of(told.restore, [&](const groups::Restore& restore) {
          return restore.sequence == resumed.sequence && restore.rank.stage == read.stage &&
                 restore.from == client(read.keeper) && restore.mark >= read.tokens;
        })) << seed;
      }
    }
  }
  EXPECT_GT(reads, 100U);
}

}  // namespace
}  // namespace aqua::kv_stream::test
