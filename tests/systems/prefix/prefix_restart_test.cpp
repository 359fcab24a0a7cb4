// SPDX-License-Identifier: Apache-2.0
// What a restart costs a prefix cache: the same prompts, with and without an end in the middle, and
// with what a keeper's disk has then. In virtual time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <limits>
#include <string>
#include <unordered_set>

#include "systems/prefix/decide/prefix_history.hpp"
#include "tests/systems/prefix/mooncake.hpp"

namespace aqua::prefix::test {
namespace {

enum class Restart : std::uint8_t { none, with_disk, without };

constexpr double kBlockBytes = 64.0 * (1 << 20);  // as conversation_options() reckons

// A cache whose blocks are written behind it, the first stored first.
class WrittenBehind {
 public:
  WrittenBehind(const PrefixOptions& options, double bytes_per_second)
      : options_(options),
        bytes_per_second_(bytes_per_second),
        index_(*PrefixIndex::create(options)) {}

  PrefixMatch serve(const TracePrompt& prompt) {
    advance(prompt.seconds);
    history_.asked(prompt.prefix());
    history_.stored(prompt.prefix());
    const PrefixMatch hit = index_.acquire(prompt.prefix());
    const auto added = index_.insert(prompt.prefix(), Tier::peer);
    EXPECT_TRUE(added.ok());
    EXPECT_TRUE(index_.release(std::span(prompt.chain).first(hit.blocks)).ok());
    for (const BlockHash& block : added->evicted) {
      pending_.erase(block);
      written_.erase(block);
    }
    ++prompts_;
    keep(prompt, added->first + added->blocks);
    if (prompts_ % 64 == 0) {
      kept_history_ = history_;
      history_order_ = ++order_;
    }
    return hit;
  }
  // Another process goes on with what is written by then. Returns how many blocks were not, those
  // that were given up included.
  std::size_t restart(Restart how, double now) {
    advance(now);
    index_ = *PrefixIndex::create(options_);
    if (how == Restart::without) return 0;
    const auto has = [&](const BlockHash& block) { return written_.contains(block); };
    std::erase_if(packs_, [&](const PrefixPack& pack) {
      return std::none_of(pack.chain.begin() + pack.first, pack.chain.end(), has);
    });
    std::vector<PrefixPack> usable;
    for (const std::size_t i : usable_packs(packs_)) usable.push_back(packs_[i]);
    restore_index(index_, usable, kept_history_, history_order_, has);
    history_ = kept_history_;
    return pending_.size() + given_up_;
  }

 private:
  // The first `end` blocks of the prompt are there: what is neither written nor waits is to be.
  void keep(const TracePrompt& prompt, std::size_t end) {
    const auto chain = std::span(prompt.chain).first(end);
    const auto first = static_cast<std::size_t>(
        std::ranges::find_if(chain,
                             [this](const BlockHash& block) {
                               return !written_.contains(block) && !pending_.contains(block);
                             }) -
        chain.begin());
    if (first == end) return;
    packs_.push_back({.head = {{}, {}, ++order_},
                      .tokens = std::min(prompt.tokens, end * options_.block_tokens),
                      .first = static_cast<std::uint32_t>(first),
                      .chain = {chain.begin(), chain.end()}});
    for (const BlockHash& block : chain.subspan(first)) {
      if (written_.contains(block) || !pending_.insert(block).second) continue;
      queue_.push_back({block, prompt.seconds, prompts_});
    }
    advance(prompt.seconds);
    // As KeptPrefixes: of more prompts than wait the oldest are given up.
    for (; !queue_.empty() && prompts_ - queue_.front().prompt >= 64; queue_.pop_front()) {
      pending_.erase(queue_.front().block);
      ++given_up_;
    }
  }
  // Writes what can be written by then. What was evicted meanwhile is left out.
  void advance(double now) {
    for (; !queue_.empty(); queue_.pop_front()) {
      const auto& [block, since, prompt] = queue_.front();
      if (!pending_.contains(block)) continue;
      const double done = std::max(free_at_, since) + kBlockBytes / bytes_per_second_;
      if (done > now) return;
      free_at_ = done;
      pending_.erase(block);
      written_.insert(block);
    }
  }

  const PrefixOptions options_;
  const double bytes_per_second_;
  PrefixIndex index_;
  PrefixHistory history_{std::size_t{4} << 20}, kept_history_{std::size_t{4} << 20};
  std::uint64_t history_order_ = 0, order_ = 0;
  std::size_t prompts_ = 0;
  std::vector<PrefixPack> packs_;
  struct Waiting {
    BlockHash block;
    double since = 0;
    std::size_t prompt = 0;
  };
  std::deque<Waiting> queue_;
  std::unordered_set<BlockHash> pending_, written_;
  std::size_t given_up_ = 0;
  double free_at_ = 0;  // when the disk has nothing to write
};

struct SecondHalf {
  std::size_t hit_blocks = 0, hit_tokens = 0;
  std::size_t pending = 0;  // blocks that were not written when it ended, or were given up before
};

SecondHalf replay(const std::vector<TracePrompt>& prompts, const PrefixOptions& options,
                  Restart how, double bytes_per_second) {
  SecondHalf sum;
  WrittenBehind cache(options, bytes_per_second);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    if (i == prompts.size() / 2 && how != Restart::none) {
      sum.pending = cache.restart(how, prompts[i].seconds);
    }
    const PrefixMatch hit = cache.serve(prompts[i]);
    if (i < prompts.size() / 2) continue;
    sum.hit_blocks += hit.blocks;
    sum.hit_tokens += hit.tokens;
  }
  return sum;
}

constexpr double kAtOnce = std::numeric_limits<double>::infinity();

TEST(PrefixRestartOnTheTrace, HitsAreAsWithoutOneButForWhatWasStillBeingWritten) {
  const auto prompts = mooncake_conversation();
  if (prompts.empty()) GTEST_SKIP() << "AQUA_DATA names no folder with the Mooncake trace";
  std::printf("blocks hit in the second half\n%-10s %8s %10s %10s %12s %8s %8s\n", "eviction",
              "blocks", "no restart", "disk", "disk, 4 GB/s", "unkept", "no disk");
  const auto row = [&](Eviction eviction, std::size_t capacity) {
    const PrefixOptions options = conversation_options(capacity, eviction);
    const SecondHalf none = replay(prompts, options, Restart::none, kAtOnce);
    const SecondHalf disk = replay(prompts, options, Restart::with_disk, kAtOnce);
    const SecondHalf slow = replay(prompts, options, Restart::with_disk, 4e9);
    const SecondHalf cold = replay(prompts, options, Restart::without, kAtOnce);
    std::printf("%-10s %8s %10zu %10zu %12zu %8zu %8zu\n",
                eviction == Eviction::lru ? "lru" : "cost_aware",
                capacity == SIZE_MAX ? "any" : std::to_string(capacity).c_str(), none.hit_blocks,
                disk.hit_blocks, slow.hit_blocks, slow.pending, cold.hit_blocks);
    std::fflush(stdout);
    EXPECT_EQ(disk.pending, 0U);
    if (eviction == Eviction::lru) {
      EXPECT_EQ(disk.hit_blocks, none.hit_blocks) << capacity;
      EXPECT_EQ(disk.hit_tokens, none.hit_tokens) << capacity;
      EXPECT_GE(slow.hit_blocks + slow.pending, none.hit_blocks) << capacity;
    } else {  // blocks lie in host memory then, and not in lent memory: their worth is another one
      EXPECT_GT(disk.hit_blocks, 0.99 * static_cast<double>(none.hit_blocks)) << capacity;
    }
    EXPECT_LT(cold.hit_blocks, 0.98 * static_cast<double>(none.hit_blocks)) << capacity;
  };
  row(Eviction::lru, 8000);
  row(Eviction::lru, SIZE_MAX);
  row(Eviction::cost_aware, 2000);
  row(Eviction::cost_aware, 8000);
}

}  // namespace
}  // namespace aqua::prefix::test
