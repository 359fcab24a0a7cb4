// SPDX-License-Identifier: Apache-2.0
// Copies of a sequence that fail or cannot begin: whoever is told of it may give the blocks away,
// so that none is on its way any more.
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <memory>
#include <optional>

#include "aqua/kv_stream/streamer.hpp"
#include "base/internals.hpp"
#include "tests/systems/kv_stream/stream/pair.hpp"
#include "transfer/ticket_state.hpp"

namespace aqua::kv_stream {
namespace {

using test::Pair;
using test::pipeline;
using test::sure;
using test::TwoToOne;

// A copy whose state is set by hand.
struct Copy final : TicketState {
  Result<bool> done() override {
    if (error) return *error;
    return over;
  }
  Result<void> wait() override {
    ++waits;
    if (error) return *error;
    return {};
  }
  void cancel() noexcept override {}
  Result<bool> layer_done(unsigned /*layer*/) override { return done(); }
  Result<void> stream_wait(Stream /*stream*/, unsigned /*layer*/) override { return {}; }
  std::size_t bytes() const noexcept override { return 0; }

  bool over = false;
  std::optional<Error> error;
  int waits = 0;
};

// The copies of a sequence of two layers, of which the first one's fails.
class FailedCopy : public ::testing::Test {
 protected:
  [[nodiscard]] std::deque<Ticket> tickets() const {
    std::deque<Ticket> made;
    for (const auto& copy : copies_)
      made.push_back(detail::Internals::make<Ticket>(std::shared_ptr<TicketState>(copy)));
    return made;
  }
  void fail_first() { copies_[0]->error = Error{Code::data_loss, "gone"}; }

  Pair pair_{pipeline({2}, 1, 4), pipeline({2}, 1, 4)};
  std::array<std::shared_ptr<Copy>, 2> copies_{std::make_shared<Copy>(), std::make_shared<Copy>()};
};

TEST_F(FailedCopy, OfASequenceThatGoesIsToldOnceNoCopyReadsItsBlocks) {
  pair_.admit(1);
  auto outs = pair_.begin(1, 8);
  auto& sender = *pair_.senders[0];
  sender.carrier.watch_by(tickets());
  for (unsigned layer = 0; layer < 2; ++layer) sure(outs[0].layer(layer, sender.stream()));
  sure(outs[0].finish("", sender.stream()));
  fail_first();
  EXPECT_FALSE(sure(outs[0].copied()));
  copies_[1]->over = true;
  EXPECT_EQ(outs[0].copied().error().code, Code::data_loss);
}

TEST_F(FailedCopy, OfASequenceThatComesIsToldOnceNoCopyWritesToItsBlocks) {
  pair_.admit(1);
  auto outs = pair_.begin(1, 8);
  pair_.send(outs, 8, 1);
  auto& receiver = *pair_.receivers[0];
  ASSERT_EQ(receiver.streamer.arrived().size(), 1U);
  receiver.carrier.watch_by(tickets());
  StreamIn in = sure(receiver.streamer.stream_in(1, receiver.blocks_for(8), receiver.stream()));
  fail_first();
  EXPECT_FALSE(sure(in.done()));
  EXPECT_EQ(in.layer_done(0).error().code, Code::data_loss) << "of that layer it is the only one";
  EXPECT_EQ(in.wait().error().code, Code::data_loss);
  EXPECT_EQ(copies_[1]->waits, 1) << "until then it is under way";
  copies_[1]->over = true;
  EXPECT_EQ(in.done().error().code, Code::data_loss);
  EXPECT_TRUE(sure(receiver.streamer.finish(1, receiver.stream())));
  EXPECT_EQ(outs[0].landed().error().code, Code::failed_precondition) << "it is not there";
}

TEST_F(FailedCopy, ThatCannotBeQueuedIsToldOnceTheOthersHaveEnded) {
  pair_.admit(1);
  auto outs = pair_.begin(1, 8);
  pair_.send(outs, 8, 1);
  auto& receiver = *pair_.receivers[0];
  ASSERT_EQ(receiver.streamer.arrived().size(), 1U);
  receiver.carrier.watch_by(tickets());
  receiver.carrier.land_at_most(1);
  const auto in = receiver.streamer.stream_in(1, receiver.blocks_for(8), receiver.stream());
  EXPECT_EQ(in.error().code, Code::internal);
  EXPECT_EQ(copies_[0]->waits, 1);
  EXPECT_EQ(copies_[1]->waits, 0);
}

TEST_F(TwoToOne, WhatHasLandedIsDoneAlsoWhereNobodyCanBeTold) {
  pair_.admit(1);
  auto outs = pair_.begin(1, 8);
  pair_.send(outs, 8, 1);
  ASSERT_EQ(receiver_.streamer.arrived().size(), 1U);
  StreamIn in = sure(receiver_.streamer.stream_in(1, receiver_.blocks_for(8), receiver_.stream()));
  receiver_.carrier.go_away();
  sure(in.wait());
  EXPECT_TRUE(sure(in.done()));
  EXPECT_EQ(receiver_.wrong(8, 1), 0U);
}

TEST_F(TwoToOne, WhereOnePartCannotBeReadYetNoneIsOnItsWay) {
  pair_.admit(1);
  auto outs = pair_.begin(1, 8);
  pair_.send(outs, 8, 1);
  ASSERT_EQ(receiver_.streamer.arrived().size(), 1U);
  const auto stream_in = [&] {
    return receiver_.streamer.stream_in(1, receiver_.blocks_for(8), receiver_.stream());
  };
  for (const auto& [parcel, fills] : pair_.hub.fills) {
    receiver_.carrier.unmap({parcel});
    EXPECT_EQ(stream_in().error().code, Code::unavailable);
    EXPECT_EQ(receiver_.carrier.landed(), 0U);
  }
  receiver_.carrier.unmap({});
  StreamIn in = sure(stream_in());
  sure(in.wait());
  EXPECT_EQ(receiver_.wrong(8, 1), 0U);
}

}  // namespace
}  // namespace aqua::kv_stream
