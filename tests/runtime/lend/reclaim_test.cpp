// SPDX-License-Identifier: Apache-2.0
// How a reclaim ends: with its coordinator and without it, beside others, and while an engine is
// busy.
#include <gtest/gtest.h>

#include <future>

#include "aqua/emulated.hpp"
#include "tests/runtime/runtime_fixture.hpp"

namespace aqua {
namespace {

using namespace aqua::literals;
using std::chrono::milliseconds;

class LentMemory : public test::RuntimeFixture {};

// A promotion waits for what the engine has queued, which may take as long as it likes.
TEST_F(LentMemory, AReclaimEndsWhileAPromotionWaitsForTheEngine) {
  auto borrower =
      open({.device = "emu:1", .name = "borrower", .host_bytes = 64_MiB, .max_peer_bytes = 4_MiB});
  auto tensor = borrower->allocate({.bytes = 1_MiB, .name = "t"});
  ASSERT_TRUE(tensor.ok());
  auto pin = tensor->pin(Access::write, Stream{});
  ASSERT_TRUE(pin.ok());
  std::promise<void> gate;
  ASSERT_TRUE(emulated::launch(*borrower, Stream{}, [open = gate.get_future().share()] {
                open.wait();
              }).ok());
  pin->release();
  auto lender = open({.device = "emu:0", .name = "lender"});
  ASSERT_TRUE(lender->lend(4_MiB).ok());
  await([&] { return borrower->status().peer.capacity_bytes == 4_MiB; });
  ASSERT_TRUE(borrower->lend(4_MiB).ok());
  auto home = borrower->reclaim(4_MiB, std::chrono::minutes(1));
  ASSERT_TRUE(home.ok());
  auto waited = std::async(std::launch::async, [&] { return home->wait(); });
  EXPECT_EQ(waited.wait_for(std::chrono::minutes(1)), std::future_status::ready);
  gate.set_value();
  EXPECT_TRUE(waited.get().ok());
}

TEST_F(LentMemory, AReclaimWithADeadlineBeyondADayIsCarriedOut) {
  auto lender = open({.device = "emu:0", .name = "lender"});
  auto borrower =
      open({.device = "emu:1", .name = "borrower", .host_bytes = 64_MiB, .max_peer_bytes = 8_MiB});
  ASSERT_TRUE(lender->lend(8_MiB).ok());
  await([&] { return borrower->status().peer.capacity_bytes == 8_MiB; });
  ASSERT_TRUE(lender->status().connected);
  auto reclaim = lender->reclaim(8_MiB, milliseconds::max());
  ASSERT_TRUE(reclaim.ok());
  const auto outcome = reclaim->wait();
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_EQ(outcome->bytes_returned, 8_MiB);
}

TEST_F(LentMemory, CanBeTakenBackWhileTheCoordinatorIsAway) {
  auto lender = open({.device = "emu:0", .name = "lender"});
  ASSERT_TRUE(lender->lend(8_MiB).ok());
  await([&] { return lender->status().connected; });
  stop_daemon();
  await([&] { return !lender->status().connected; });
  auto reclaim = lender->reclaim(8_MiB, milliseconds(2000));
  ASSERT_TRUE(reclaim.ok());
  EXPECT_TRUE(reclaim->wait().ok());
  EXPECT_EQ(lender->status().lent_bytes, 0u);
}

// The coordinator has begun it, so it is known there when the coordinator goes.
TEST_F(LentMemory, AReclaimUnderWayIsDoneWithoutItsCoordinator) {
  auto lender = open({.device = "emu:0", .name = "lender"});
  auto borrower =
      open({.device = "emu:1", .name = "borrower", .host_bytes = 64_MiB, .max_peer_bytes = 8_MiB});
  ASSERT_TRUE(lender->lend(8_MiB).ok());
  await([&] { return borrower->status().peer.capacity_bytes == 8_MiB; });
  auto tensor = borrower->allocate({.bytes = 1_MiB, .name = "held"});
  ASSERT_TRUE(tensor.ok());
  stamp(*borrower, *tensor, 4);
  auto pin = tensor->pin(Access::write, Stream{});
  ASSERT_TRUE(pin.ok());
  auto reclaim = lender->reclaim(8_MiB, std::chrono::minutes(1));
  ASSERT_TRUE(reclaim.ok());
  await([&] { return reclaim->progress().bytes_returned == 4_MiB; });  // of the other slab
  stop_daemon();
  await([&] { return !lender->status().connected && !borrower->status().connected; });
  pin->release();
  const auto outcome = reclaim->wait();
  EXPECT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_EQ(lender->status().lent_bytes, 0u);
  EXPECT_EQ(mismatches(*borrower, *tensor, 4), 0u);
}

TEST_F(LentMemory, AReclaimOfWhatAnotherBringsHomeWaitsForNothingElse) {
  auto lender = open({.device = "emu:0", .name = "lender"});
  await([&] { return lender->status().connected; });
  for (int round = 0; round < 2; ++round) {  // the second finds nothing left of the first
    ASSERT_TRUE(lender->lend(8_MiB).ok());
    auto first = lender->reclaim(8_MiB, milliseconds(10'000));
    auto second = lender->reclaim(8_MiB, milliseconds(10'000));
    ASSERT_TRUE(first.ok() && second.ok());
    for (const Reclaim& reclaim : {*first, *second}) {
      const auto outcome = reclaim.wait();
      EXPECT_TRUE(outcome.ok()) << outcome.error().message;
    }
    EXPECT_EQ(first->progress().bytes_returned, 8_MiB);
    EXPECT_EQ(lender->status().lent_bytes, 0u);
  }
}

TEST_F(LentMemory, OverlappingReclaimsWithoutACoordinatorWantNoByteTwice) {
  auto lender = open({.device = "emu:0", .coordinator = "none", .name = "lender"});
  ASSERT_TRUE(lender->lend(8_MiB).ok());
  auto first = lender->reclaim(4_MiB, milliseconds(60'000));
  auto second = lender->reclaim(8_MiB, milliseconds(60'000));
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_TRUE(first->wait().ok());
  EXPECT_TRUE(second->wait().ok());  // long before its deadline
  EXPECT_EQ(first->progress().bytes_returned + second->progress().bytes_returned, 8_MiB);
  EXPECT_EQ(lender->status().lent_bytes, 0u);
}

}  // namespace
}  // namespace aqua
