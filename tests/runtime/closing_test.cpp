// SPDX-License-Identifier: Apache-2.0
// What a runtime does when there is nothing to do, and what becomes of those who wait when it
// closes.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <thread>

#include "aqua/groups.hpp"
#include "tests/base/sanitized.hpp"
#include "tests/runtime/runtime_fixture.hpp"
#include "tests/runtime/scripted_coordinator.hpp"

namespace aqua {
namespace {

using namespace aqua::literals;
using std::chrono::milliseconds;

class Closing : public test::RuntimeFixture {};

milliseconds processor_time() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return milliseconds(now.tv_sec * 1000 + now.tv_nsec / 1'000'000);
}

// The wait is what is measured: a loop that does not sleep takes all of it.
TEST(Idle, ABorrowerWithoutACoordinatorSleeps) {
  auto runtime = Runtime::open(
      {.device = "emu:0", .coordinator = "none", .host_bytes = 64_MiB, .max_peer_bytes = 64_MiB});
  ASSERT_TRUE(runtime.ok()) << runtime.error().message;
  const milliseconds before = processor_time();
  std::this_thread::sleep_for(milliseconds(400));
  EXPECT_LT(processor_time() - before, milliseconds(200));
}

// The kernel has so much to write that it still runs when the runtime closes.
TEST(ClosingAlone, WaitsForWorkOnWhatWasFreed) {
  auto runtime = Runtime::open({.device = "emu:0", .coordinator = "none", .host_bytes = 64_MiB});
  ASSERT_TRUE(runtime.ok()) << runtime.error().message;
  auto tensor = runtime->allocate({.bytes = 1_MiB, .name = "freed"});
  ASSERT_TRUE(tensor.ok());
  auto pin = tensor->pin(Access::write, Stream{});
  ASSERT_TRUE(pin.ok());
  constexpr int kRounds = 2000;
  std::atomic<int> written = 0;
  ASSERT_TRUE(emulated::launch(*runtime, Stream{}, [&written, to = pin->data()] {
                for (; written < kRounds; ++written)
                  std::memset(emulated::kernel_view(to), written, 1_MiB);
              }).ok());
  pin->release();
  *tensor = AquaTensor{};
  { const Runtime closed = std::move(runtime).value(); }
  EXPECT_EQ(written, kRounds);
}

class ClosingInAFork : public Closing {
 protected:
  void SetUp() override {
#ifdef AQUA_SANITIZED
    GTEST_SKIP() << "a sanitizer, whose runtime does not survive fork() beside threads";
#endif
  }
  // The exit status of a child that destroys its copy of what this process has opened.
  template <typename Opened>
  static int status_of_child(std::optional<Opened>& opened) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(60);  // ends one that hangs
      opened.reset();
      ::_exit(0);
    }
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return status;
  }
};

TEST_F(ClosingInAFork, ReturnsAndLeavesTheRuntimeToTheParent) {
  auto runtime = open({.device = "emu:0", .host_bytes = 64_MiB, .max_peer_bytes = 8_MiB});
  ASSERT_TRUE(runtime->lend(8_MiB).ok());
  EXPECT_EQ(status_of_child(runtime), 0);
  auto reclaim = runtime->reclaim(8_MiB, std::chrono::minutes(1));
  ASSERT_TRUE(reclaim.ok());
  EXPECT_TRUE(reclaim->wait().ok());
}

TEST_F(ClosingInAFork, ReturnsAndLeavesThePartInAGroupToTheParent) {
  auto runtime = open({.device = "emu:0"});
  auto joined = GroupMember::join(*runtime, {.name = "chat",
                                             .decode = {.stages = 2},
                                             .shape = {.model = "m", .dtype = "f16", .layout = "l"},
                                             .rank = GroupRank{}});
  ASSERT_TRUE(joined.ok()) << joined.error().message;
  std::optional member(std::move(joined).value());
  await([&] { return member->news().term == 1; });
  EXPECT_EQ(status_of_child(member), 0);
  EXPECT_TRUE(member->acknowledge(1, {}).ok());
}

TEST_F(Closing, EndsTheWaitForAReclaim) {
  auto lender = open({.device = "emu:0", .name = "lender"});
  auto borrower =
      open({.device = "emu:1", .name = "borrower", .host_bytes = 64_MiB, .max_peer_bytes = 8_MiB});
  ASSERT_TRUE(lender->lend(8_MiB).ok());
  await([&] { return borrower->status().peer.capacity_bytes == 8_MiB; });
  auto tensor = borrower->allocate({.bytes = 1_MiB, .name = "held"});
  ASSERT_TRUE(tensor.ok());
  auto pin = tensor->pin(Access::write, Stream{});
  ASSERT_TRUE(pin.ok());
  auto reclaim = lender->reclaim(8_MiB, std::chrono::minutes(10));
  ASSERT_TRUE(reclaim.ok());
  await([&] { return borrower->status().peer.capacity_bytes < 8_MiB; });  // it is under way
  auto waited = std::async(std::launch::async, [&] { return reclaim->wait(); });
  lender.reset();
  const auto outcome = waited.get();
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, Code::failed_precondition);
  EXPECT_FALSE(reclaim->progress().done);
}

TEST_F(Closing, AsksOnceWhereTheCoordinatorDoesNotAnswer) {
  constexpr const char* kWithdraw = "POST /v1/offers/withdraw";
  std::atomic<test::ScriptedCoordinator*> self{nullptr};
  test::ScriptedCoordinator coordinator(
      directory_,
      [&](const std::string& request) -> std::optional<test::ScriptedCoordinator::Reply> {
        if (request == kWithdraw) (void)self.load()->await("the end", 1);
        return std::nullopt;
      });
  self = &coordinator;
  auto lender = open({.device = "emu:0", .coordinator = coordinator.address(), .name = "lender"});
  await([&] { return lender->status().connected; });
  ASSERT_TRUE(lender->lend(12_MiB).ok());  // three slabs
  EXPECT_TRUE(coordinator.await("POST /v1/offers", 1));
  lender.reset();
  EXPECT_EQ(coordinator.asked(kWithdraw), 1);
}

class ClosingLender : public Closing {
 protected:
  static constexpr const char* kWithdraw = "POST /v1/offers/withdraw";

  // How often the coordinator is asked to withdraw something when a lender of three slabs closes.
  int withdrawals(const test::ScriptedCoordinator::Script& script) {
    test::ScriptedCoordinator coordinator(directory_, script);
    auto lender = open({.device = "emu:0", .coordinator = coordinator.address(), .name = "lender"});
    await([&] { return lender->status().connected; });
    EXPECT_TRUE(lender->lend(12_MiB).ok());
    EXPECT_TRUE(coordinator.await("POST /v1/offers", 1));
    lender.reset();
    return coordinator.asked(kWithdraw);
  }
};

TEST_F(ClosingLender, WithdrawsAllItsSlabsAtOnce) {
  EXPECT_EQ(withdrawals([](const std::string&) { return std::nullopt; }), 1);
}

TEST_F(ClosingLender, WithdrawsEachSlabByItselfWhereAllAreRefused) {
  EXPECT_EQ(withdrawals([](const std::string& request) {
              return request == kWithdraw
                         ? std::optional(test::ScriptedCoordinator::without_reply())
                         : std::nullopt;
            }),
            4);
}

}  // namespace
}  // namespace aqua
