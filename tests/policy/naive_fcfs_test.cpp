// fcfs against a second implementation that knows no queues: it scans all sequences each time.
// Preemption by recomputation, so that no copy is under way.
#include <algorithm>

#include "policy/engine.hpp"

namespace aqua::policy::test {
namespace {

using Where = EngineSequence::Where;

struct Expected {
  std::vector<std::uint64_t> preempted, decodes;
  std::vector<PrefillChunk> prefills;
};

Expected naive(const Engine& engine) {
  const SchedulerOptions& o = engine.options();
  const auto blocks = [&](std::uint32_t tokens) {
    return (tokens + o.block_tokens - 1) / o.block_tokens;
  };
  auto all = engine.sequences();  // ids rise with arrival
  Expected result;
  std::int64_t free = o.device_blocks;
  for (const auto& [id, s] : all) free -= s.blocks;
  std::uint32_t budget = o.budget_tokens;
  std::int64_t claimed = 0, promised = 0;
  std::size_t inside = 0;
  for (auto& [id, s] : all) {
    if (s.where != Where::device) continue;
    const std::uint32_t known = s.prompt + s.generated;
    const std::uint32_t chunk = std::min(known - s.computed, budget);
    const auto need = std::int64_t{blocks(s.computed + chunk)} - s.blocks;
    while (s.where == Where::device && claimed + need > free) {
      auto latest = std::find_if(all.rbegin(), all.rend(),
                                 [](const auto& e) { return e.second.where == Where::device; });
      result.preempted.push_back(latest->first);
      free += latest->second.blocks;
      latest->second = {.prompt = latest->second.prompt,
                        .generated = latest->second.generated,
                        .where = Where::nowhere};
    }
    if (s.where != Where::device) break;
    inside += 1;
    claimed += need;
    const bool decodes = s.generated > 0 && known - s.computed == 1;
    if (!decodes) promised += std::int64_t{blocks(known)} - s.blocks - need;
    if (chunk == 0) continue;
    budget -= chunk;
    if (decodes) {
      result.decodes.push_back(id);
    } else {
      result.prefills.push_back({SequenceId{id}, s.computed, chunk, chunk == known - s.computed});
    }
  }
  if (!result.preempted.empty()) return result;
  std::int64_t left = free - claimed - promised;
  for (const auto& [id, s] : all) {
    if (s.where != Where::nowhere) continue;
    const std::uint32_t known = s.prompt + s.generated;
    if (blocks(known) + (inside > 0 ? o.device_blocks / 100 : 0) > left || budget == 0) break;
    const std::uint32_t chunk = std::min(known, budget);
    result.prefills.push_back({SequenceId{id}, 0, chunk, chunk == known});
    budget -= chunk;
    left -= blocks(known);
    inside += 1;
  }
  return result;
}

TEST(NaiveFcfs, SaysTheSame) {
  std::size_t preemptions = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    std::mt19937_64 random(seed);
    Engine engine("fcfs", {.budget_tokens = 32,
                           .block_tokens = 4,
                           .device_blocks = 110,
                           .preempt_by = PreemptBy::recompute});
    for (int i = 0; i < 500; ++i) {
      if (random() % 4 == 0) {
        engine.arrive(1 + static_cast<std::uint32_t>(random() % 60),
                      1 + static_cast<std::uint32_t>(random() % 60));
      }
      const Expected expected = naive(engine);
      const Batch batch = engine.plan();
      std::vector<std::uint64_t> out, decodes;
      for (const Preemption& p : batch.preemptions) out.push_back(static_cast<std::uint64_t>(p.id));
      for (const SequenceId id : batch.decodes) decodes.push_back(static_cast<std::uint64_t>(id));
      ASSERT_EQ(out, expected.preempted) << "seed " << seed << " iteration " << i;
      ASSERT_EQ(decodes, expected.decodes) << "seed " << seed << " iteration " << i;
      ASSERT_EQ(batch.prefills, expected.prefills) << "seed " << seed << " iteration " << i;
      preemptions += out.size();
      if (batch.computes()) engine.run();
    }
  }
  EXPECT_GT(preemptions, 100U) << "memory was never short";
}

}  // namespace
}  // namespace aqua::policy::test
