// SPDX-License-Identifier: Apache-2.0
// Prefix caches that a real keeper keeps: engines of one process, and of another one that is
// killed.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aqua/handoff/segments.hpp"
#include "tests/base/eventually.hpp"
#include "tests/keeper/keeper_process.hpp"
#include "tests/systems/prefix/engine_blocks.hpp"

namespace aqua::test {

// A small engine with a cache that a keeper keeps.
class KeptEngine {
 public:
  static constexpr std::size_t plane_bytes = 4096;  // of an engine's block; 32 KiB an index block

  KeptEngine(const PrefixKeeping& keep, std::size_t capacity = 1000)
      : runtime_(*Runtime::open({.device = "emu:0",
                                 .coordinator = "none",
                                 .host_bytes = std::size_t{32} << 20,
                                 .curve_directory = "off",
                                 .emulated = {.total_bytes = std::size_t{64} << 20}})),
        engine_(std::make_unique<EngineBlocks>(runtime_, plane_bytes)),
        cache_(*PrefixCache::create(runtime_, engine_->layout(),
                                    {.index = {.block_tokens = 8, .capacity_blocks = capacity},
                                     .engine_block_tokens = 4,
                                     .keep = keep})) {}

  // A prompt of its own, of so many tokens, with KV that the seed says.
  void store(unsigned seed, std::size_t tokens) {
    const auto from = EngineBlocks::list(seed, blocks_of(tokens));
    engine_->fill(from, seed);
    const auto mine = chain(seed, tokens);
    auto stored = cache_.store({mine, tokens}, from, engine_->stream());
    ASSERT_TRUE(stored.ok()) << stored.error().message;
    ASSERT_TRUE(stored->wait().ok());
  }
  // What of it is hit, as it was stored, byte for byte.
  std::size_t hit(unsigned seed, std::size_t tokens) {
    const auto to = EngineBlocks::list(seed + 17, blocks_of(tokens));
    engine_->fill(to, seed + 1);
    const auto mine = chain(seed, tokens);
    auto got = cache_.fetch({mine, tokens}, to, engine_->stream());
    EXPECT_TRUE(got.ok()) << (got.ok() ? "" : got.error().message);
    if (!got.ok()) return 0;
    EXPECT_TRUE(got->wait().ok());
    EXPECT_EQ(engine_->wrong(BlockList(to).first(blocks_of(got->match.tokens)), seed), 0U);
    return got->match.tokens;
  }
  [[nodiscard]] bool keep_all() { return cache_.write_behind(std::chrono::seconds(60)); }
  [[nodiscard]] PrefixCache& cache() { return cache_; }
  [[nodiscard]] Runtime& runtime() { return runtime_; }

 private:
  static std::uint32_t blocks_of(std::size_t tokens) {
    return static_cast<std::uint32_t>((tokens + 3) / 4);
  }
  Runtime runtime_;
  std::unique_ptr<EngineBlocks> engine_;
  PrefixCache cache_;
};

class KeptPrefixCache : public ::testing::Test {
 protected:
  KeptPrefixCache() {
    keeper_.kill();
    start();
  }
  void start() {
    keeper_.start({AQUA_KEEPER_PROGRAM, "--socket", keeper_.socket(), "--disk", disk(),
                   "--disk-quota", "268435456"});
  }
  void start_without_disk() {
    keeper_.kill();
    keeper_.start();
  }
  [[nodiscard]] std::string disk() const { return dir_ / "disk"; }
  [[nodiscard]] PrefixKeeping keeping(const std::string& shape = "model, bytes") const {
    return {.name = "engine",
            .shape = shape,
            .max_bytes = std::size_t{64} << 20,
            .segment_bytes = std::size_t{2} << 20,
            .keeper = keeper_.socket()};
  }
  // That have blocks; what lists the prompts is smaller.
  [[nodiscard]] std::size_t segments() const {
    const auto all = list_segments(keeper_.socket()).value();
    return static_cast<std::size_t>(std::ranges::count_if(all, [](const SegmentStatus& each) {
      return each.name.bytes > 2 * EngineBlocks::planes * KeptEngine::plane_bytes;
    }));
  }
  // Until all that was committed is on the disk.
  void await_disk() {
    ASSERT_TRUE(eventually([&] {
      const SegmentDisk now = segment_disk(keeper_.socket()).value();
      return now.pending.segments == 0 && now.durable.segments != 0;
    }));
  }
  // Does it in a process of its own, which is killed when it is done. No runtime may be open here.
  static void in_a_process_that_is_killed(const std::function<void()>& work) {
    int done[2];
    ASSERT_EQ(::pipe(done), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(done[0]);
      work();
      const char outcome = HasFailure() ? 'n' : 'y';
      (void)!::write(done[1], &outcome, 1);
      for (;;) ::pause();
    }
    ::close(done[1]);
    char outcome = 'd';  // dead
    EXPECT_EQ(::read(done[0], &outcome, 1), 1);
    EXPECT_EQ(outcome, 'y');
    ::close(done[0]);
    ::kill(child, SIGKILL);
    EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  }
  void store_in_a_process_that_is_killed(unsigned prompts, std::size_t tokens = 27) {
    in_a_process_that_is_killed([&] {
      KeptEngine engine(keeping());
      for (unsigned i = 1; i <= prompts; ++i) engine.store(i, tokens);
      EXPECT_TRUE(engine.keep_all()) << engine.cache().kept().error;
      await_disk();
    });
  }

  mutable KeeperProcess keeper_;
  testing::TempDir dir_;
};

}  // namespace aqua::test
