// SPDX-License-Identifier: Apache-2.0
// A read over UCX that is stopped midway: its memory is the caller's again, and who sends goes on.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <future>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "tests/tools/courier/link_pair.hpp"
#include "tests/tools/courier/ucx/hand.hpp"

namespace aqua::courier {
namespace {

// `there` reads what a Hand sends.
class UcxMidway : public LinkPair {
 protected:
  void SetUp() override {}
  void agree() {
    auto accepted = begin_to_accept(CarrierChoice::ucx);
    here_.emplace(connect());
    hand_.emplace(*here_);
    ASSERT_TRUE(here_->say(Hello{.pool = "p", .from = "f", .to = "t", .ucx = hand_->here()}).ok());
    const auto answer = here_->receive().value();
    hand_->reach(*std::get<Welcome>(*answer.message).ucx);
    ASSERT_TRUE(here_->say(Settled{true, ""}).ok());
    accepted.get();
    ASSERT_FALSE(there_->is_over_tls()) << how_there_;
    there_->greeted(std::chrono::seconds(60));
  }
  // Begins both, and returns when the Hand is told where the bytes are wanted. None is sent yet.
  std::future<Result<void>> begin(std::span<const std::byte> bytes, std::span<std::byte> into) {
    hand_->begin_to_send(1, bytes);
    auto read = std::async(std::launch::async, [this, into] { return there_->read(into); });
    hand_->wait_for_news();
    return read;
  }

  std::optional<Hand> hand_;  // of here_, before which it ends
};
INSTANTIATE_TEST_SUITE_P(Over, UcxMidway, ::testing::Values("ucx"));

TEST_P(UcxMidway, MemoryIsTheCallersAgainWhenAReadWasStopped) {
  agree();
  constexpr std::byte kSent{0xaa}, kStamp{0x55};
  const std::vector<std::byte> bytes(kMostCarried, kSent);
  std::vector<std::byte> into(bytes.size());
  auto read = begin(bytes, into);
  signal_event(stop_there_.get());
  const auto ended = read.get();
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().code, Code::cancelled);
  std::ranges::fill(into, kStamp);
  // Whatever is left of the read would go on while the carrier is asked for.
  auto sent = std::async(std::launch::async, [&] { hand_->finish(); });
  while (sent.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    EXPECT_FALSE(there_->ready_to_wait().ok()) << "it is of no use any more";
  }
  EXPECT_EQ(std::ranges::count(into, kStamp), static_cast<std::ptrdiff_t>(into.size()));
}

// UCX 1.13 would end the process by an assertion if what goes over TCP were not copied.
TEST_P(UcxMidway, ASenderOutlivesWhoStopsReading) {
  const std::vector<std::byte> bytes(std::size_t{64} << 20);
  std::vector<std::byte> into(bytes.size());
  for (int round = 0; round < 8; ++round) {
    agree();
    auto read = begin(bytes, into);
    hand_->go_on();
    signal_event(stop_there_.get());
    const auto ended = read.get();  // all of it may have come
    EXPECT_TRUE(ended.ok() || ended.error().code == Code::cancelled) << ended.error().message;
    hand_->finish();
    hand_.reset();
    clear_event(stop_there_.get());
  }
}

}  // namespace
}  // namespace aqua::courier
