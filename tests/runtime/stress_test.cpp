// SPDX-License-Identifier: Apache-2.0
// Engine threads offload blocks, overwrite them and fetch them into other blocks, while a lender
// takes its memory back and lends it again all the time. Every byte is compared.
//
// AQUA_STRESS_SECONDS sets the time (3), AQUA_STRESS_SEED the seed (1).
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "tests/kill/dice.hpp"
#include "tests/runtime/runtime_fixture.hpp"

// What the emulated GPU copies is no access of a host thread: a transfer may write a tensor while a
// migration copies it, which is then copied again. A GPU's copies are not seen either.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race:aqua::device::bulk_copy\n";
}

namespace aqua {
namespace {

using namespace aqua::literals;

constexpr unsigned kLayers = 4;
constexpr std::uint32_t kBlocks = 48;  // of each worker's cache
constexpr std::size_t kBlockBytes = 4096;
constexpr std::size_t kMostBlocks = 16;  // of a sequence
constexpr std::size_t kSequences = 12;   // of a worker

std::uint64_t word_of(std::uint64_t stamp, unsigned layer, std::size_t block, std::size_t at) {
  return ((stamp * 64 + layer) * 64 + block) * 0x9e3779b97f4a7c15U + at;
}

// One engine thread: a stream, a cache of its own, and sequences that are away.
class Worker {
 public:
  Worker(Runtime& runtime, std::uint64_t seed, std::atomic<std::uint64_t>& wrong)
      : runtime_(runtime),
        wrong_(wrong),
        random_(seed),
        stamp_(seed << 32U),
        cache_(std::move(emulated::allocate(runtime, kLayers * kBlocks * kBlockBytes)).value()),
        stream_(emulated::create_stream(runtime).value()),
        order_(kBlocks) {
    std::vector<std::byte*> planes;
    for (unsigned l = 0; l < kLayers; ++l)
      planes.push_back(cache_.data() + l * kBlocks * kBlockBytes);
    layout_ = Layout::make({.layers = kLayers,
                            .planes_per_layer = 1,
                            .planes = planes,
                            .block_count = kBlocks,
                            .block_stride = kBlockBytes,
                            .axes = BlockAxes::whole(kBlockBytes)})
                  .value();
    std::iota(order_.begin(), order_.end(), 0U);
  }
  ~Worker() {
    sequences_.clear();
    EXPECT_TRUE(emulated::destroy_stream(runtime_, stream_).ok());
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  [[nodiscard]] std::uint64_t fetched() const { return fetched_; }

  void turn() {
    if (sequences_.size() < kSequences) return preempt();
    Sequence& sequence = sequences_[random_() % sequences_.size()];
    resume(sequence);
    if (random_() % 3 == 0) {
      std::swap(sequence, sequences_.back());
      sequences_.pop_back();  // freed while its fetch may be under way
    }
    if (random_() % 8 == 0) synchronize();  // no endless queue
  }
  void synchronize() { EXPECT_TRUE(emulated::synchronize(runtime_, stream_).ok()); }

 private:
  struct Sequence {
    AquaTensor tensor;
    std::uint64_t stamp = 0;
    std::size_t blocks = 0;
  };

  std::vector<std::uint32_t> any_blocks(std::size_t count) {
    std::shuffle(order_.begin(), order_.end(), random_);
    return {order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(count)};
  }
  // Visits every word of the blocks on the stream.
  template <typename Visit>
  void kernel(const std::vector<std::uint32_t>& blocks, Visit visit) {
    const auto run = [base = cache_.data(), blocks, visit] {
      std::byte* const view = emulated::kernel_view(base);
      for (unsigned l = 0; l < kLayers; ++l) {
        for (std::size_t b = 0; b < blocks.size(); ++b) {
          std::byte* const block = view + (l * kBlocks + blocks[b]) * kBlockBytes;
          for (std::size_t at = 0; at < kBlockBytes; at += 8) visit(block + at, l, b, at);
        }
      }
    };
    EXPECT_TRUE(emulated::launch(runtime_, stream_, run).ok());
  }
  void stamp(const std::vector<std::uint32_t>& blocks, std::uint64_t stamp) {
    kernel(blocks, [stamp](std::byte* to, unsigned l, std::size_t b, std::size_t at) {
      const std::uint64_t word = word_of(stamp, l, b, at);
      std::memcpy(to, &word, sizeof word);
    });
  }

  void preempt() {
    Sequence sequence{.tensor = {}, .stamp = ++stamp_, .blocks = 1 + random_() % kMostBlocks};
    const auto blocks = any_blocks(sequence.blocks);
    auto tensor = runtime_.allocate({.bytes = layout_->packed_bytes(blocks.size())});
    ASSERT_TRUE(tensor.ok()) << tensor.error().message;
    sequence.tensor = std::move(tensor).value();
    stamp(blocks, sequence.stamp);
    const auto out = runtime_.offload(*layout_, blocks, sequence.tensor, stream_);
    ASSERT_TRUE(out.ok()) << out.error().message;
    stamp(blocks, ++stamp_);  // the blocks are another sequence's, in stream order
    sequences_.push_back(std::move(sequence));
  }
  void resume(Sequence& sequence) {
    const auto blocks = any_blocks(sequence.blocks);
    const auto back = runtime_.fetch(sequence.tensor, *layout_, blocks, stream_);
    ASSERT_TRUE(back.ok()) << back.error().message;
    ++fetched_;
    kernel(blocks, [this, stamp = sequence.stamp](const std::byte* from, unsigned l, std::size_t b,
                                                  std::size_t at) {
      std::uint64_t word = 0;
      std::memcpy(&word, from, sizeof word);
      if (word != word_of(stamp, l, b, at)) ++wrong_;
    });
  }

  Runtime& runtime_;
  std::atomic<std::uint64_t>& wrong_;
  std::mt19937_64 random_;
  std::uint64_t stamp_;
  emulated::Memory cache_;
  Stream stream_;
  std::optional<Layout> layout_;
  std::vector<std::uint32_t> order_;
  std::vector<Sequence> sequences_;
  std::uint64_t fetched_ = 0;
};

class TransferStress : public test::RuntimeFixture {};

TEST_F(TransferStress, BlocksComeBackRightWhileTheLenderTakesAndGives) {
  constexpr std::size_t kLent = 32_MiB;
  const std::uint64_t seed = kill_test::number_from("AQUA_STRESS_SEED", 1);
  auto lender = open({.device = "emu:0", .name = "lender"});
  auto borrower =
      open({.device = "emu:1", .name = "borrower", .host_bytes = 64_MiB, .max_peer_bytes = kLent});
  ASSERT_TRUE(lender->lend(kLent).ok());
  await([&] { return borrower->status().peer.capacity_bytes == kLent; });

  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::seconds(kill_test::number_from("AQUA_STRESS_SECONDS", 3));
  std::atomic<std::uint64_t> wrong{0}, fetched{0};
  std::atomic<bool> over{false};
  std::vector<std::jthread> engines;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    engines.emplace_back([&, i] {
      Worker worker(*borrower, seed * 100 + i, wrong);
      while (!over && wrong == 0 && !HasFailure()) worker.turn();
      worker.synchronize();
      fetched += worker.fetched();
    });
  }
  std::mt19937_64 random(seed);
  std::size_t reclaims = 0;
  // Once at least what is to be tested, on however slow a machine.
  const auto enough = [&] {
    return std::chrono::steady_clock::now() >= end && reclaims > 1 &&
           borrower->status().promotions > 0;
  };
  while (!enough() && wrong == 0 && !HasFailure()) {
    const std::size_t bytes = (1 + random() % 8) * 4_MiB;
    auto reclaim = lender->reclaim(bytes, std::chrono::seconds(20));
    if (!reclaim.ok()) {
      ADD_FAILURE() << reclaim.error().message;
      break;
    }
    const auto home = reclaim->wait();
    EXPECT_TRUE(home.ok()) << home.error().message;
    ++reclaims;
    if (home.ok()) {
      EXPECT_TRUE(lender->lend(home->bytes_returned).ok());
    }
    await([&] { return borrower->status().peer.capacity_bytes == kLent; });
  }
  over = true;
  for (std::jthread& engine : engines) engine.join();

  EXPECT_EQ(wrong, 0U) << "seed " << seed;
  const RuntimeStatus status = borrower->status();
  std::printf("%lu fetches, %zu reclaims, %zu evacuations, %zu promotions\n", fetched.load(),
              reclaims, status.evacuations, status.promotions);
  EXPECT_GT(fetched, 0U);
  EXPECT_GT(reclaims, 1U);
  EXPECT_GT(status.evacuations, 0U);
  EXPECT_GT(status.promotions, 0U);
}

}  // namespace
}  // namespace aqua
