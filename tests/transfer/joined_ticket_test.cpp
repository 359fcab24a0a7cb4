// SPDX-License-Identifier: Apache-2.0
// Several transfers behind one ticket: over together, and the first one's error is kept until then.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "aqua/ticket.hpp"
#include "base/internals.hpp"
#include "tests/transfer/device_memory.hpp"
#include "transfer/ticket_state.hpp"

namespace aqua::test {
namespace {

// A transfer of two layers whose state is set by hand.
struct Part final : TicketState {
  explicit Part(std::size_t all) : size(all) {}

  Result<bool> answer(bool value) const {
    if (error) return *error;
    return value;
  }
  Result<bool> done() override { return answer(over); }
  Result<void> wait() override {
    ++waits;
    if (error) return *error;
    return {};
  }
  void cancel() noexcept override { cancelled = true; }
  Result<bool> layer_done(unsigned layer) override { return answer(layer < arrived); }
  Result<void> stream_wait(Stream stream, unsigned layer) override {
    waiting.push_back(stream.native + layer);
    return {};
  }
  std::size_t bytes() const noexcept override { return size; }

  std::size_t size;
  bool over = false;
  std::optional<Error> error;
  unsigned arrived = 0;  // layers
  int waits = 0;
  bool cancelled = false;
  std::vector<std::uintptr_t> waiting;  // stream + layer
};

class JoinedTicket : public ::testing::Test {
 private:
  std::vector<std::shared_ptr<Part>> parts_{std::make_shared<Part>(3), std::make_shared<Part>(4)};

 protected:
  Part& first = *parts_[0];
  Part& second = *parts_[1];
  Ticket joined = join();

 private:
  Ticket join() {
    std::vector<Ticket> tickets;
    for (const auto& part : parts_) tickets.push_back(detail::Internals::make<Ticket>(part));
    return Ticket::join(std::move(tickets));
  }
};

TEST_F(JoinedTicket, IsDoneWhenAllAre) {
  EXPECT_FALSE(must(joined.done()));
  first.over = true;
  EXPECT_FALSE(must(joined.done()));
  second.over = true;
  EXPECT_TRUE(must(joined.done()));
  EXPECT_EQ(joined.bytes(), 7U);
}

TEST_F(JoinedTicket, AnErrorIsToldWhenTheOthersAreOver) {
  second.error = Error{Code::data_loss, "gone"};
  EXPECT_FALSE(must(joined.done()));
  first.over = true;
  EXPECT_EQ(joined.done().error().code, Code::data_loss);
  second.error.reset();  // a question that failed: the transfer itself runs on
  EXPECT_FALSE(must(joined.done()));
}

TEST_F(JoinedTicket, TheFirstOfTwoErrorsIsTold) {
  first.error = Error{Code::cancelled, "first"};
  second.error = Error{Code::data_loss, "second"};
  EXPECT_EQ(joined.done().error().code, Code::cancelled);
  EXPECT_EQ(joined.wait().error().code, Code::cancelled);
  EXPECT_EQ(first.waits + second.waits, 2);  // for both: until then memory is in use
}

TEST_F(JoinedTicket, ALayerIsThereWhenItIsInEach) {
  first.arrived = 2;
  second.arrived = 1;
  EXPECT_TRUE(must(joined.layer_done(0)));
  EXPECT_FALSE(must(joined.layer_done(1)));
  must(joined.stream_wait(Stream{40}, 1));
  EXPECT_EQ(first.waiting, std::vector<std::uintptr_t>{41});
  EXPECT_EQ(second.waiting, std::vector<std::uintptr_t>{41});
}

TEST_F(JoinedTicket, ACancelIsForAll) {
  joined.cancel();
  EXPECT_TRUE(first.cancelled && second.cancelled);
}

TEST(JoinedTickets, OfNoneIsDone) {
  Ticket none = Ticket::join({});
  EXPECT_TRUE(must(none.done()));
  must(none.wait());
  EXPECT_EQ(none.bytes(), 0U);
}

}  // namespace
}  // namespace aqua::test
