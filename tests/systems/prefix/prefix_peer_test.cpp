// SPDX-License-Identifier: Apache-2.0
// Prefixes in memory that a neighbour lends and takes back: they are hit wherever they lie, and
// every byte that comes back is compared.
#include <future>

#include "tests/systems/prefix/prefix_at_a_peer.hpp"

namespace aqua {
namespace {

using namespace aqua::literals;
using std::chrono::milliseconds;
using test::chain;
using test::EngineBlocks;
using test::PrefixAtAPeer;

constexpr std::size_t lent = PrefixAtAPeer::lent;
constexpr std::size_t prompt = PrefixAtAPeer::prompt;
constexpr std::size_t prompt_blocks = PrefixAtAPeer::prompt_blocks;

TEST_F(PrefixAtAPeer, WhatIsStoredLiesInLentMemoryAndComesBack) {
  open_cache(100);
  for (unsigned i = 0; i < 12; ++i) store(i, i);
  EXPECT_EQ(borrower_->status().peer.tensors, 12 * prompt_blocks);
  for (unsigned i = 0; i < 12; ++i) {
    const prefix::PrefixMatch match = hit(i, i);
    EXPECT_EQ(match.tokens, prompt);
    EXPECT_EQ(match.slowest, Tier::peer);
  }
}

TEST_F(PrefixAtAPeer, AReclaimInTheMiddleOfHitsChangesNoByteAndEndsNone) {
  open_cache(100);
  for (unsigned i = 0; i < 12; ++i) store(i, i);
  auto reclaim = lender_->reclaim(lent, milliseconds(20'000));
  ASSERT_TRUE(reclaim.ok());
  bool done = false;
  for (unsigned i = 0; !done || i < 12; ++i) {
    done = reclaim->progress().done;
    EXPECT_EQ(hit(i % 12, i % 12).tokens, prompt);
  }
  EXPECT_TRUE(reclaim->wait().ok());
  EXPECT_EQ(lender_->status().lent_bytes, 0U);
  for (unsigned i = 0; i < 12; ++i) EXPECT_EQ(hit(i, i).slowest, Tier::host);
  // Lent again, they move back up, and the index hears of it.
  lend();
  await([&] { return borrower_->status().peer.tensors == 12 * prompt_blocks; });
  for (unsigned i = 0; i < 12; ++i) EXPECT_EQ(hit(i, i).slowest, Tier::peer);
}

// The lender wants its slabs while the copy out of them is queued and has not begun.
TEST_F(PrefixAtAPeer, AFetchThatIsQueuedWhenTheReclaimComesBringsItsBytes) {
  open_cache(100);
  store(3, 3);
  const auto hashes = chain(3, prompt);
  engine_->fill(into_, 4);
  std::promise<void> gate;
  ASSERT_TRUE(emulated::launch(*borrower_, engine_->stream(), [open = gate.get_future().share()] {
                open.wait();
              }).ok());
  auto got = cache_->fetch({hashes, prompt}, into_, engine_->stream());
  auto reclaim = lender_->reclaim(lent, milliseconds(20'000));
  gate.set_value();
  EXPECT_EQ(arrived(std::move(got), 3).tokens, prompt);
  ASSERT_TRUE(reclaim.ok() && reclaim->wait().ok());
  EXPECT_EQ(hit(3, 3).slowest, Tier::host);
}

TEST_F(PrefixAtAPeer, TenantsWithTheSamePromptHaveEachTheirOwn) {
  open_cache(100);
  store(1, 7, "red");
  EXPECT_EQ(hit(2, 7, "blue").blocks, 0U) << "the same tokens, another salt";
  store(2, 7, "blue");
  EXPECT_EQ(borrower_->status().peer.tensors, 2 * prompt_blocks);
  for (int round = 0; round < 2; ++round) {  // in lent memory, and out of it
    EXPECT_EQ(hit(1, 7, "red").tokens, prompt);
    EXPECT_EQ(hit(2, 7, "blue").tokens, prompt);
    if (round == 0) take_back();
  }
  const auto red = chain(7, prompt, "red");
  cache_->forget({red, prompt});
  EXPECT_EQ(hit(1, 7, "red").blocks, 0U);
  EXPECT_EQ(hit(2, 7, "blue").tokens, prompt);
}

TEST_F(PrefixAtAPeer, APreemptedSequenceGetsLentMemoryThatPrefixesHave) {
  open_cache(1000);
  constexpr unsigned prompts = 40;  // of 512 KiB: more than is lent
  for (unsigned i = 0; i < prompts; ++i) store(i, i);
  const auto before = borrower_->status();
  ASSERT_GT(before.host.tensors, 0U);
  const TensorOptions sequence{.bytes = 2_MiB, .name = "sequence"};
  ASSERT_EQ(borrower_->allocate(sequence)->tier(), Tier::host) << "lent memory is full";

  const auto tensor = cache_->allocate(sequence);
  ASSERT_TRUE(tensor.ok()) << tensor.error().message;
  EXPECT_EQ(tensor->tier(), Tier::peer);
  const auto after = borrower_->status();
  EXPECT_EQ(after.host.tensors, before.host.tensors) << "prefixes elsewhere are not in the way";
  EXPECT_GE(after.peer.tensor_bytes + 4_MiB, before.peer.tensor_bytes) << "no more than twice";
  EXPECT_EQ(hit(0, 0).blocks, 0U) << "the oldest goes";
  for (unsigned i = prompts / 2; i < prompts; ++i) EXPECT_EQ(hit(i, i).tokens, prompt);
}

// What is being copied keeps its memory after it is evicted, until the copy is over.
TEST_F(PrefixAtAPeer, NoMoreThanTwiceTheBytesAreGivenUpWhereThatGivesNoRoom) {
  open_cache(1000);
  for (unsigned i = 0; i < 40; ++i) store(i, i);
  std::promise<void> gate;
  ASSERT_TRUE(emulated::launch(*borrower_, engine_->stream(), [open = gate.get_future().share()] {
                open.wait();
              }).ok());
  for (unsigned i = 0; i < 40; ++i) {
    ASSERT_TRUE(cache_->fetch({chain(i, prompt), prompt}, into_, engine_->stream()).ok());
  }
  const std::size_t before = cache_->bytes();
  const auto tensor = cache_->allocate({.bytes = 1_MiB, .name = "sequence"});
  gate.set_value();
  ASSERT_TRUE(tensor.ok()) << tensor.error().message;
  EXPECT_EQ(tensor->tier(), Tier::host);
  EXPECT_EQ(cache_->bytes() + 2_MiB, before);
}

TEST_F(PrefixAtAPeer, NoPrefixIsGivenUpForWhatLentMemoryCannotHold) {
  open_cache(1000);
  for (unsigned i = 0; i < 4; ++i) store(i, i);
  const std::size_t before = cache_->bytes();
  const auto tensor = cache_->allocate({.bytes = lent + 1_MiB, .name = "sequence"});
  ASSERT_TRUE(tensor.ok()) << tensor.error().message;
  EXPECT_EQ(tensor->tier(), Tier::host);
  EXPECT_EQ(cache_->allocate({.bytes = 65_MiB, .name = "larger"}).error().code,
            Code::resource_exhausted);
  EXPECT_EQ(cache_->bytes(), before);
}

// What is short is the exit in host memory, which prefixes in lent memory do not have.
TEST_F(PrefixAtAPeer, WhereExitsAreShortNoPrefixWithoutOneIsGivenUp) {
  open_cache(100);
  for (unsigned i = 0; i < 4; ++i) store(i, i);
  const auto filler = borrower_->allocate({.bytes = 64_MiB, .host_only = true});
  ASSERT_TRUE(filler.ok()) << filler.error().message;
  const std::size_t before = cache_->bytes();
  EXPECT_EQ(cache_->allocate({.bytes = 64_KiB, .name = "sequence"}).error().code,
            Code::resource_exhausted);
  EXPECT_EQ(cache_->bytes(), before);
  const auto system = chain(50, prompt);
  const auto stored =
      cache_->store_as("system", {system, prompt}, EngineBlocks::list(2, 8), engine_->stream());
  ASSERT_TRUE(stored.ok()) << stored.error().message;
  EXPECT_EQ(stored->blocks, 0U);
  EXPECT_EQ(cache_->bytes(), before);
  for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(hit(i, i).tokens, prompt);
}

TEST_F(PrefixAtAPeer, WhereExitsAreShortTheExitsOfPrefixesInLentMemoryAreGivenUp) {
  open_cache(100);
  for (unsigned i = 0; i < 4; ++i) store(i, i);
  const auto named = chain(50, prompt);
  const auto from = EngineBlocks::list(2, 8);
  engine_->fill(from, 50);
  ASSERT_TRUE(cache_->store_as("system", {named, prompt}, from, engine_->stream()).ok());
  ASSERT_TRUE(emulated::synchronize(*borrower_, engine_->stream()).ok());
  const auto filler = borrower_->allocate({.bytes = 64_MiB - 512_KiB, .host_only = true});
  ASSERT_TRUE(filler.ok()) << filler.error().message;
  const TensorOptions sequence{.bytes = 512_KiB, .name = "sequence"};
  EXPECT_EQ(cache_->allocate(sequence).error().code, Code::resource_exhausted)
      << "what has a name stays";
  ASSERT_TRUE(cache_->drop("system").ok());
  const auto tensor = cache_->allocate(sequence);
  ASSERT_TRUE(tensor.ok()) << tensor.error().message;
  EXPECT_EQ(cache_->match({named, prompt}).blocks, 0U);
  for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(hit(i, i).tokens, prompt) << i;
}

TEST_F(PrefixAtAPeer, WhereHostMemoryIsFullAReclaimDropsPrefixesThatAreNotPinned) {
  open_cache(100);
  const auto pinned = chain(50, prompt);
  const auto from = EngineBlocks::list(2, 8);
  engine_->fill(from, 50);
  ASSERT_TRUE(cache_->store_as("system", {pinned, prompt}, from, engine_->stream()).ok());
  auto filler = borrower_->allocate({.bytes = 64_MiB - 512_KiB, .host_only = true});
  ASSERT_TRUE(filler.ok()) << filler.error().message;
  EXPECT_EQ(borrower_->allocate({.bytes = 64_KiB, .host_only = true}).error().code,
            Code::resource_exhausted)
      << "the rest is the exit of what is pinned";
  for (unsigned i = 0; i < 4; ++i) store(i, i);
  EXPECT_EQ(borrower_->status().peer.tensors, 5 * prompt_blocks);
  take_back();
  for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(hit(i, i).blocks, 0U);
  engine_->fill(into_, 51);
  EXPECT_EQ(arrived(cache_->fetch_by("system", into_, engine_->stream()), 50).slowest, Tier::host);
  *filler = AquaTensor();
  store(1, 1);
  EXPECT_EQ(hit(1, 1).tokens, prompt) << "computed again, and stored again";
}

// No fetch before it has told the cache what the reclaim dropped.
TEST_F(PrefixAtAPeer, WhatAReclaimDroppedIsStoredAnew) {
  open_cache(100);
  auto filler = borrower_->allocate({.bytes = 64_MiB, .host_only = true});
  ASSERT_TRUE(filler.ok()) << filler.error().message;
  store(1, 1);
  store(2, 2);
  take_back();
  *filler = AquaTensor();
  store(1, 1);
  EXPECT_EQ(hit(1, 1).tokens, prompt);
  const auto named = chain(2, prompt);
  const auto from = EngineBlocks::list(2, 8);
  engine_->fill(from, 2);
  auto stored = cache_->store_as("system", {named, prompt}, from, engine_->stream());
  ASSERT_TRUE(stored.ok()) << stored.error().message;
  EXPECT_EQ(stored->blocks, prompt_blocks);
  engine_->fill(into_, 3);
  EXPECT_EQ(arrived(cache_->fetch_by("system", into_, engine_->stream()), 2).tokens, prompt);
}

TEST_F(PrefixAtAPeer, WhatWasStoredWithoutAnExitGetsOneWithItsName) {
  open_cache(100);
  store(5, 5);
  const auto hashes = chain(5, prompt);
  const std::size_t bytes = cache_->bytes();
  const auto from = EngineBlocks::list(5, 8);
  auto stored = cache_->store_as("system", {hashes, prompt}, from, engine_->stream());
  ASSERT_TRUE(stored.ok() && stored->wait().ok());
  EXPECT_EQ(stored->blocks, prompt_blocks);
  EXPECT_EQ(cache_->bytes(), bytes);
  EXPECT_EQ(cache_->store_as("again", {hashes, prompt}, from, engine_->stream())->blocks, 0U);
  const auto filler = borrower_->allocate({.bytes = 64_MiB - 512_KiB, .host_only = true});
  ASSERT_TRUE(filler.ok()) << filler.error().message;
  take_back();
  engine_->fill(into_, 6);
  const auto found = arrived(cache_->fetch_by("system", into_, engine_->stream()), 5);
  EXPECT_EQ(found.tokens, prompt);
  EXPECT_EQ(found.slowest, Tier::host);
}

TEST_F(PrefixAtAPeer, APinnedPrefixOutlivesEvictionAndReclaimUntilItIsDropped) {
  open_cache(3 * prompt_blocks);
  const auto from = EngineBlocks::list(2, 8);
  engine_->fill(from, 50);
  const auto hashes = chain(50, prompt);
  auto stored = cache_->store_as("system", {hashes, prompt}, from, engine_->stream());
  ASSERT_TRUE(stored.ok()) << stored.error().message;
  for (unsigned i = 0; i < 10; ++i) {
    store(i, i);
    if (i == 4) take_back();
    engine_->fill(into_, 51);
    EXPECT_EQ(arrived(cache_->fetch_by("system", into_, engine_->stream()), 50).tokens, prompt);
    EXPECT_LE(cache_->index().blocks(), 3 * prompt_blocks);
  }
  EXPECT_EQ(hit(0, 0).blocks, 0U) << "what nobody pinned made way";
  // Preemption wants all of the swap space.
  cache_->set_capacity(0);
  EXPECT_EQ(cache_->bytes(), prompt_blocks * 2 * engine_->block_bytes());
  engine_->fill(into_, 51);
  EXPECT_EQ(arrived(cache_->fetch_by("system", into_, engine_->stream()), 50).tokens, prompt);
  ASSERT_TRUE(cache_->drop("system").ok());
  cache_->set_capacity(0);
  EXPECT_EQ(cache_->bytes(), 0U);
  EXPECT_EQ(borrower_->status().peer.tensors + borrower_->status().host.tensors, 0U);
}

}  // namespace
}  // namespace aqua
