// SPDX-License-Identifier: Apache-2.0
// What would otherwise pass in silence, as memory that is never borrowed, is told: once.
#include <gmock/gmock.h>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <vector>

#include "tests/runtime/runtime_fixture.hpp"

namespace aqua {
namespace {

using namespace aqua::literals;
using ::testing::HasSubstr;

class Told : public test::RuntimeFixture {
 protected:
  // What was logged with these words in it.
  std::vector<std::string> heard(const std::string& words) {
    const std::lock_guard lock(mu_);
    std::vector<std::string> found;
    for (const std::string& line : lines_) {
      if (line.find(words) != std::string::npos) found.push_back(line);
    }
    return found;
  }
  Callbacks listening() {
    Callbacks callbacks;
    callbacks.on_log = [this](LogLevel level, const std::string& text) {
      if (level == LogLevel::info) return;
      const std::lock_guard lock(mu_);
      lines_.push_back(text);
    };
    return callbacks;
  }

 private:
  std::mutex mu_;
  std::vector<std::string> lines_;
};

TEST_F(Told, ACoordinatorThatCannotBeReachedOnce) {
  stop_daemon();
  auto runtime = open({.device = "emu:0", .callbacks = listening()});
  await([&] { return !heard("coordinator.sock").empty(); });
  EXPECT_THAT(heard("coordinator.sock").front(), HasSubstr("nothing is borrowed or lent until"));
  start_daemon();
  await([&] { return runtime->status().connected; });
  EXPECT_EQ(heard("until it answers").size(), 1u);
}

TEST_F(Told, HostMemoryThatHoldsNoSlabOnce) {
  auto lender = open({.device = "emu:0", .name = "lender"});
  auto borrower = open({.device = "emu:1",
                        .name = "borrower",
                        .host_bytes = 2_MiB,
                        .max_peer_bytes = 8_MiB,
                        .callbacks = listening()});
  ASSERT_TRUE(lender->lend(4_MiB).ok());
  await([&] { return !heard("nothing borrowed").empty(); });
  EXPECT_THAT(heard("nothing borrowed").front(),
              HasSubstr("has exits for 2097152 bytes and leases of 0; the smallest slab offered "
                        "has 4194304 (host_bytes is 2097152)"));
  EXPECT_THAT(borrower->status().not_borrowing, HasSubstr("has exits for 2097152 bytes"));
  ASSERT_TRUE(lender->lend(4_MiB).ok());  // it asks again, as does another who has room
  auto other = open({.device = "emu:2", .name = "other", .max_peer_bytes = 8_MiB});
  await([&] { return other->status().peer.capacity_bytes == 8_MiB; });
  EXPECT_EQ(heard("nothing borrowed").size(), 1u);
}

TEST_F(Told, WhichLenderCannotBeBorrowedFromAndWhy) {
  auto lender = open({.device = "emu:0", .name = "lender"});
  ASSERT_TRUE(lender->lend(4_MiB).ok());
  std::string socket;
  for (const auto& file : std::filesystem::directory_iterator(directory_)) {
    if (file.path().filename().string().starts_with("x-")) socket = file.path();
  }
  ASSERT_TRUE(std::filesystem::remove(socket));
  auto borrower = open(
      {.device = "emu:1", .name = "borrower", .max_peer_bytes = 8_MiB, .callbacks = listening()});
  await([&] { return !heard("import of 1 slabs of lender ").empty(); });
  EXPECT_THAT(heard("import of").front(), HasSubstr(socket));
  await([&] { return !borrower->status().not_borrowing.empty(); });
}

TEST_F(Told, ThatALinkIsNoFolderForItsSocket) {
  const std::string link = directory_ + "/link";
  std::filesystem::create_directory_symlink(directory_, link);
  const auto opened =
      Runtime::open({.device = "emu:0", .coordinator = "none", .socket_directory = link + "/"});
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, Code::permission_denied);
  EXPECT_THAT(opened.error().message, HasSubstr("socket_directory " + link));
}

TEST_F(Told, NoCoordinatorWhereMemoryIsWantedOrLent) {
  auto quiet = open({.device = "emu:0", .coordinator = "none", .callbacks = listening()});
  EXPECT_TRUE(heard("no coordinator is named").empty());
  ASSERT_TRUE(quiet->lend(4_MiB).ok());
  EXPECT_EQ(heard("lend: nobody can borrow it: no coordinator is named").size(), 1u);
  auto wants = open({.device = "emu:1",
                     .coordinator = "none",
                     .max_peer_bytes = 8_MiB,
                     .callbacks = listening()});
  EXPECT_EQ(heard("max_peer_bytes 8388608, but nothing is borrowed").size(), 1u);
}

// The tensor is pinned, so that its slab stays, and is looked at again and again, to the deadline.
TEST_F(Told, ADiscardableTensorThatIsDroppedOnce) {
  auto lender = open({.device = "emu:0", .name = "lender"});
  std::atomic<unsigned> losses{0};
  std::atomic<unsigned> budgets{0};
  std::atomic<unsigned> errors{0};
  Callbacks callbacks = listening();
  callbacks.on_log = [&, told = callbacks.on_log](LogLevel level, const std::string& text) {
    if (level == LogLevel::error) ++errors;
    told(level, text);
  };
  callbacks.on_data_loss = [&](std::uint64_t, const std::string& name) {
    if (name == "seq 7") ++losses;
  };
  callbacks.on_budget = [&](const MemoryBudget& budget) {
    if (budget.reason == BudgetReason::lost) ++budgets;
  };
  auto borrower = open({.device = "emu:1",
                        .name = "borrower",
                        .host_bytes = 4_MiB,
                        .max_peer_bytes = 4_MiB,
                        .callbacks = callbacks});
  ASSERT_TRUE(lender->lend(4_MiB).ok());
  await([&] { return borrower->status().peer.capacity_bytes == 4_MiB; });
  auto tensor = borrower->allocate({.bytes = 1_MiB, .name = "seq 7", .discardable = true});
  auto filler = borrower->allocate({.bytes = 4_MiB, .name = "filler", .host_only = true});
  ASSERT_TRUE(tensor.ok() && filler.ok());
  auto pin = tensor->pin(Access::read, Stream{});
  ASSERT_TRUE(pin.ok());

  auto reclaim = lender->reclaim(4_MiB, std::chrono::milliseconds(200));
  ASSERT_TRUE(reclaim.ok());
  EXPECT_FALSE(reclaim->wait().ok()) << "the pin keeps the slab";
  EXPECT_TRUE(tensor->lost());
  pin->release();
  await([&] { return lender->status().lent_bytes == 0; });
  await([&] { return losses > 0 && budgets > 0; });
  EXPECT_EQ(losses, 1u);
  EXPECT_EQ(budgets, 1u);
  EXPECT_EQ(heard("'seq 7': data_loss").size(), 1u);
  EXPECT_EQ(errors, 0u) << "to be dropped is what it was made for";
  EXPECT_EQ(borrower->status().lost_tensors, 1u);
}

TEST_F(Told, ATensorThatOutlivesItsRuntime) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        auto runtime = open({.device = "emu:0", .coordinator = "none"});
        auto tensor = runtime->allocate({.bytes = 4096, .name = "seq 42"});
        runtime.reset();
        std::_Exit(0);  // before the tensor goes
      },
      ::testing::ExitedWithCode(0), "1 tensors outlive this runtime.*'seq 42'");
}

}  // namespace
}  // namespace aqua
