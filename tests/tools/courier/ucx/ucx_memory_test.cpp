// SPDX-License-Identifier: Apache-2.0
// A carrier that has returned an error touches the caller's memory no more, whatever the other side
// goes on to do, which is told and goes on. (Over TCP UCX writes only while it makes progress; a
// device would write by itself.)
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <future>
#include <string>
#include <variant>
#include <vector>

#include "tests/tools/courier/link_pair.hpp"
#include "tests/tools/courier/ucx/hand.hpp"

namespace aqua::courier {
namespace {

class UcxMemory : public LinkPair {
 protected:
  void SetUp() override {}
};
INSTANTIATE_TEST_SUITE_P(Over, UcxMemory, ::testing::Values("ucx"));

TEST_P(UcxMemory, IsTheCallersAgainWhenAReadWasStoppedMidway) {
  const UniqueFd listener = listen_at("127.0.0.1:0").value();
  auto accepted = std::async(std::launch::async, [&] {
    const std::vector<std::string> names{"a.test"};
    Link link = Link::accept(*b_, accept_next(listener.get(), stop_there_.get()).value(), names,
                             stop_there_.get())
                    .value();
    const auto hello = link.receive().value();
    how_there_ = welcome(link, CarrierChoice::ucx, std::get<Hello>(*hello.message).ucx).value();
    there_.emplace(std::move(link));
  });
  Link link = Link::connect(*a_, "127.0.0.1:" + std::to_string(port_of(listener.get())), "b.test",
                            stop_here_.get())
                  .value();
  Hand hand(link, UcxPoint{});
  ASSERT_TRUE(link.say(Hello{.pool = "p", .from = "f", .to = "t", .ucx = hand.here()}).ok());
  const auto answer = link.receive().value();
  hand.reach(*std::get<Welcome>(*answer.message).ucx);
  ASSERT_TRUE(link.say(Settled{true, ""}).ok());
  accepted.get();
  ASSERT_FALSE(there_->is_over_tls()) << how_there_;
  there_->greeted(std::chrono::seconds(60));

  constexpr std::byte kSent{0xaa}, kStamp{0x55};
  const std::vector<std::byte> bytes(kMostCarried, kSent);
  std::vector<std::byte> into(bytes.size());
  hand.begin_to_send(1, bytes);
  auto read = std::async(std::launch::async, [&] { return there_->read(into); });
  hand.wait_for_news();  // it is told where they are wanted, and sends none yet
  signal_event(stop_there_.get());
  const auto ended = read.get();
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().code, Code::cancelled);
  std::ranges::fill(into, kStamp);
  hand.finish();
  EXPECT_EQ(std::ranges::count(into, kStamp), static_cast<std::ptrdiff_t>(into.size()));
}

}  // namespace
}  // namespace aqua::courier
