// SPDX-License-Identifier: Apache-2.0
// The whole job in one process: a coordinator, a lender and a borrower, each with its own
// threads and sockets. What real processes add (deaths, stops) is in tests/kill.
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <future>
#include <mutex>

#include "aqua/elastic_pool.hpp"
#include "aqua/emulated.hpp"
#include "base/internals.hpp"
#include "device/device.hpp"
#include "runtime/impl.hpp"
#include "tests/runtime/runtime_fixture.hpp"

namespace aqua {
namespace {

using namespace aqua::literals;
using std::chrono::milliseconds;

class LendBorrow : public test::RuntimeFixture {};

TEST_F(LendBorrow, ATensorComesToLieInLentMemoryAndKeepsItsBytes) {
  auto lender = open({.device = "emu:0", .name = "lender"});
  auto borrower =
      open({.device = "emu:1", .name = "borrower", .host_bytes = 64_MiB, .max_peer_bytes = 32_MiB});
  ASSERT_TRUE(lender->lend(32_MiB).ok());
  await([&] { return borrower->status().peer.capacity_bytes == 32_MiB; });

  auto tensor = borrower->allocate({.bytes = 5_MiB, .name = "t"});
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(tensor->tier(), Tier::peer);
  stamp(*borrower, *tensor, 7);
  EXPECT_EQ(mismatches(*borrower, *tensor, 7), 0u);
  EXPECT_EQ(lender->status().held_bytes, 32_MiB);
}

TEST_F(LendBorrow, WhatIsLentIsToldAsOfferedAndNotAsWanted) {
  std::mutex mu;
  std::vector<BudgetReason> told;
  Callbacks callbacks;
  callbacks.on_budget = [&](const MemoryBudget& budget) {
    const std::lock_guard lock(mu);
    told.push_back(budget.reason);
  };
  auto lender = open({.device = "emu:0", .name = "lender", .callbacks = callbacks});
  ASSERT_TRUE(lender->lend(4_MiB).ok());
  const auto count = [&](BudgetReason reason) {
    const std::lock_guard lock(mu);
    return std::ranges::count(told, reason);
  };
  await([&] { return count(BudgetReason::offered) > 0; });
  EXPECT_EQ(count(BudgetReason::wanted), 0);
}

// What is put up while a session begins is offered before, by or after its declaration.
TEST_F(LendBorrow, SlabsPutUpWhileASessionBeginsAreAllLent) {
  auto borrower =
      open({.device = "emu:1", .name = "borrower", .host_bytes = 64_MiB, .max_peer_bytes = 32_MiB});
  for (int round = 0; round < 10; ++round) {
    auto lender = open({.device = "emu:0", .name = "lender"});
    for (int i = 0; i < 8; ++i) ASSERT_TRUE(lender->lend(4_MiB).ok());
    await([&] { return borrower->status().peer.capacity_bytes == 32_MiB; });
    auto home = lender->reclaim(32_MiB, milliseconds(20'000));
    ASSERT_TRUE(home.ok() && home->wait().ok());
  }
}

TEST_F(LendBorrow, AReclaimBringsEverySlabHomeAndNoByteChanges) {
  auto lender = open({.device = "emu:0", .name = "lender"});
  auto borrower =
      open({.device = "emu:1", .name = "borrower", .host_bytes = 64_MiB, .max_peer_bytes = 32_MiB});
  ASSERT_TRUE(lender->lend(32_MiB).ok());
  await([&] { return borrower->status().peer.capacity_bytes == 32_MiB; });
  std::vector<AquaTensor> tensors;
  for (unsigned i = 0; i < 20; ++i) {
    auto tensor = borrower->allocate({.bytes = 1_MiB + 4096 * i, .name = "t"});
    ASSERT_TRUE(tensor.ok());
    stamp(*borrower, *tensor, i);
    tensors.push_back(std::move(tensor).value());
  }

  auto reclaim = lender->reclaim(32_MiB, milliseconds(5000));
  ASSERT_TRUE(reclaim.ok());
  const auto outcome = reclaim->wait();
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_EQ(outcome->bytes_returned, 32_MiB);
  EXPECT_EQ(lender->status().lent_bytes, 0u);
  device::Device& device = detail::Internals::impl(*lender).device();
  EXPECT_EQ(device.free_bytes(), device.info().total_bytes);
  for (unsigned i = 0; i < 20; ++i) {
    EXPECT_EQ(tensors[i].tier(), Tier::host);
    EXPECT_EQ(mismatches(*borrower, tensors[i], i), 0u);
  }

  // Offered again, the tensors move up again.
  ASSERT_TRUE(lender->lend(32_MiB).ok());
  await([&] { return borrower->status().promotions >= 20; });
  for (unsigned i = 0; i < 20; ++i) {
    EXPECT_EQ(tensors[i].tier(), Tier::peer);
    EXPECT_EQ(mismatches(*borrower, tensors[i], i), 0u);
  }
}

TEST_F(LendBorrow, APinDelaysAReclaimToItsDeadlineWhichNamesTheHolder) {
  auto lender = open({.device = "emu:0", .name = "lender"});
  std::atomic<unsigned> told{0};
  Callbacks callbacks;
  callbacks.on_pins_wanted = [&](const std::vector<PinnedTensor>& pinned, auto) {
    told += static_cast<unsigned>(pinned.size());
  };
  auto borrower = open({.device = "emu:1",
                        .name = "borrower",
                        .host_bytes = 64_MiB,
                        .max_peer_bytes = 8_MiB,
                        .callbacks = callbacks});
  ASSERT_TRUE(lender->lend(8_MiB).ok());
  await([&] { return borrower->status().peer.capacity_bytes == 8_MiB; });
  auto tensor = borrower->allocate({.bytes = 1_MiB, .name = "held"});
  ASSERT_TRUE(tensor.ok());
  stamp(*borrower, *tensor, 1);
  auto pin = tensor->pin(Access::write, Stream{});
  ASSERT_TRUE(pin.ok());
  std::byte* const address = pin->data();

  auto reclaim = lender->reclaim(8_MiB, milliseconds(300));
  ASSERT_TRUE(reclaim.ok());
  const auto outcome = reclaim->wait();
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, Code::deadline_exceeded);
  EXPECT_NE(outcome.error().message.find("borrower"), std::string::npos) << outcome.error().message;
  EXPECT_EQ(reclaim->progress().holders.size(), 1u);
  EXPECT_EQ(pin->data(), address);
  EXPECT_EQ(told, 1u);

  pin->release();  // a late return still arrives
  await([&] { return lender->status().lent_bytes == 0; });
  EXPECT_EQ(mismatches(*borrower, *tensor, 1), 0u);
}

// Slabs are emptied in the order of their numbers, so that the one that can be emptied is the last.
TEST_F(LendBorrow, TensorsThatStayPinnedKeepNoOtherFromLeaving) {
  constexpr std::size_t kSlab = 4_MiB;
  constexpr std::size_t kPinned = tensor::Migrator::kWindowBytes;
  auto lender = open({.device = "emu:0", .name = "lender"});
  auto borrower = open({.device = "emu:1",
                        .name = "borrower",
                        .host_bytes = 2 * kPinned,
                        .max_peer_bytes = kPinned + kSlab});
  ASSERT_TRUE(lender->lend(kPinned).ok());
  await([&] { return borrower->status().peer.capacity_bytes == kPinned; });
  std::vector<AquaTensor> tensors;
  std::vector<Pin> pins;
  for (std::size_t bytes = 0; bytes < kPinned; bytes += kSlab) {
    tensors.push_back(borrower->allocate({.bytes = kSlab, .name = "held"}).value());
    pins.push_back(tensors.back().pin(Access::write, Stream{}).value());
    ASSERT_EQ(pins.back().tier(), Tier::peer);
  }
  ASSERT_TRUE(lender->lend(kSlab).ok());
  await([&] { return borrower->status().peer.capacity_bytes == kPinned + kSlab; });
  auto tensor = borrower->allocate({.bytes = 1_MiB, .name = "free to go"});
  ASSERT_TRUE(tensor.ok());
  ASSERT_EQ(tensor->tier(), Tier::peer);
  stamp(*borrower, *tensor, 5);

  ASSERT_TRUE(lender->reclaim(kPinned + kSlab, std::chrono::minutes(1)).ok());
  await([&] { return lender->status().lent_bytes == kPinned; });
  EXPECT_EQ(tensor->tier(), Tier::host);
  EXPECT_EQ(mismatches(*borrower, *tensor, 5), 0u);
}

TEST_F(LendBorrow, WithoutACoordinatorTensorsLiveOnTheHostTier) {
  auto alone = open({.device = "emu:0",
                     .coordinator = "none",
                     .name = "alone",
                     .host_bytes = 8_MiB,
                     .max_peer_bytes = 8_MiB});
  auto tensor = alone->allocate({.bytes = 2_MiB, .name = "t"});
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(tensor->tier(), Tier::host);
  stamp(*alone, *tensor, 3);
  EXPECT_EQ(mismatches(*alone, *tensor, 3), 0u);
  const auto too_much = alone->allocate({.bytes = 64_MiB, .name = "t"});
  ASSERT_FALSE(too_much.ok());
  EXPECT_EQ(too_much.error().code, Code::resource_exhausted);
}

TEST_F(LendBorrow, TheLastBudgetToldIsTheOneThatHolds) {
  std::mutex mutex;
  std::condition_variable told;
  std::size_t peer_bytes = 0;
  Callbacks callbacks;
  callbacks.on_budget = [&](const MemoryBudget& budget) {
    const std::scoped_lock lock(mutex);
    peer_bytes = budget.peer_bytes;
    told.notify_all();
  };
  const auto await_told = [&](std::size_t bytes) {
    std::unique_lock lock(mutex);
    return told.wait_for(lock, std::chrono::seconds(20), [&] { return peer_bytes == bytes; });
  };
  auto lender = open({.device = "emu:0", .name = "lender"});
  auto borrower = open({.device = "emu:1",
                        .name = "borrower",
                        .host_bytes = 64_MiB,
                        .max_peer_bytes = 8_MiB,
                        .callbacks = callbacks});
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(lender->lend(8_MiB).ok());
    ASSERT_TRUE(await_told(8_MiB)) << "round " << round;
    auto reclaim = lender->reclaim(8_MiB, milliseconds(10'000));
    ASSERT_TRUE(reclaim.ok());
    ASSERT_TRUE(await_told(0)) << "round " << round;
    ASSERT_TRUE(reclaim->wait().ok());
  }
  borrower.reset();  // its callbacks use what is above
}

TEST_F(LendBorrow, AnElasticPoolLendsItsTailAndItsPointersStayValid) {
  auto lender = open({.device = "emu:0", .name = "lender"});
  auto borrower =
      open({.device = "emu:1", .name = "borrower", .host_bytes = 64_MiB, .max_peer_bytes = 16_MiB});
  auto pool = ElasticPool::create(*lender, {.planes = 4, .plane_bytes = 8_MiB});
  ASSERT_TRUE(pool.ok()) << pool.error().message;
  std::byte* const plane = pool->plane(3);
  ASSERT_TRUE(pool->lend(2, Stream{}).ok());
  EXPECT_EQ(pool->usable_bytes_per_plane(), 4_MiB);
  await([&] { return borrower->status().peer.capacity_bytes == 16_MiB; });
  EXPECT_EQ(pool->lent_quanta(), 2u);

  auto tensor = borrower->allocate({.bytes = 5_MiB, .name = "spans slabs of 2 MiB"});
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(tensor->tier(), Tier::peer);
  stamp(*borrower, *tensor, 9);
  auto reclaim = lender->reclaim(16_MiB, milliseconds(5000));
  ASSERT_TRUE(reclaim.ok());
  ASSERT_TRUE(reclaim->wait().ok());
  await([&] { return pool->usable_bytes_per_plane() == 8_MiB; });
  EXPECT_EQ(pool->plane(3), plane);
  EXPECT_EQ(mismatches(*borrower, *tensor, 9), 0u);
}

}  // namespace
}  // namespace aqua
