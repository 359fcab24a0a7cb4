// SPDX-License-Identifier: Apache-2.0
// One with a peer's certificate who agrees on UCX and then sends what it should not. What has not
// the key is not read; what has it and was not announced so ends the connection, by name. Nothing
// of it is kept, and parcels go on crossing.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/xxh3.hpp"
#include "tests/tools/courier/hostile_visitor.hpp"
#include "tests/tools/courier/ucx/hand.hpp"

namespace aqua::courier {
namespace {

using namespace std::chrono_literals;
using Bytes = std::vector<std::byte>;

// Moves the bytes of a frame, which the link has announced, as this says.
class Misdeed final : public Carrier {
 public:
  using Commit = std::function<void(Hand&, std::span<const std::byte>)>;
  Misdeed(std::shared_ptr<Hand> hand, Commit commit)
      : hand_(std::move(hand)), commit_(std::move(commit)) {}
  Result<void> send(std::span<const std::byte> bytes) override {
    commit_(*hand_, bytes);
    return {};
  }
  Result<void> read(std::span<std::byte> /*into*/) override { return {}; }
  Result<int> ready_to_wait() override { return -1; }

 private:
  const std::shared_ptr<Hand> hand_;
  const Commit commit_;
};

class HostileByUcx : public HostileVisitor {
 protected:
  HostileByUcx() : HostileVisitor("ucx") {}

  // Offers UCX, and is told where the courier is reached by it.
  void agree(Link& link) {
    hand_ = std::make_shared<Hand>(link);
    Hello hello{.pool = "carried", .from = "prefill", .to = "decode", .index = 9};
    hello.ucx = hand_->here();
    ASSERT_TRUE(link.say(hello).ok());
    const Message answer = heard(link);
    const auto* const welcome = std::get_if<Welcome>(&answer);
    ASSERT_TRUE(welcome != nullptr && welcome->ucx);
    courier_ = *welcome->ucx;
  }
  // Greeted, over UCX as that says.
  [[nodiscard]] Link greeted(Misdeed::Commit commit) {
    Link link = connect();
    agree(link);
    hand_->reach(courier_);
    EXPECT_TRUE(link.say(Settled{true, ""}).ok());
    link.carry_by(std::make_unique<Misdeed>(hand_, std::move(commit)));
    link.greeted(60s);  // what ends it is the courier's doing
    return link;
  }
  // Has a parcel of these bytes let in, and sends them.
  void give(Link& link, const Bytes& bytes) {
    Offer offered = offer(1, bytes.size());
    offered.parcel.segment.digest = xxh3_of(bytes);
    ASSERT_TRUE(link.say(offered).ok());
    ASSERT_TRUE(std::holds_alternative<Go>(heard(link)));
    ASSERT_TRUE(link.send(bytes).ok());
  }

  std::shared_ptr<Hand> hand_;
  UcxPoint courier_;
};

Bytes stamped(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 251);
  return bytes;
}

// --- what is dropped, and does no harm ---

struct Dropped {
  const char* name;
  Misdeed::Commit first;  // before the bytes are sent as they should be
};
void PrintTo(const Dropped& dropped, std::ostream* out) {
  *out << dropped.name;
}
class DroppedByUcx : public HostileByUcx, public ::testing::WithParamInterface<Dropped> {};
INSTANTIATE_TEST_SUITE_P(
    Each, DroppedByUcx,
    ::testing::Values(Dropped{"AWrongKey",
                              [](Hand& hand, std::span<const std::byte> bytes) {
                                UcxKey key = hand.key();
                                key.back() ^= 1;
                                hand.send(kUcxBytes, key, 1, Bytes(bytes.size()));
                                hand.send(kUcxBytes, key, 1, Bytes(100));
                              }},
                      Dropped{"NoKey",
                              [](Hand& hand, std::span<const std::byte> bytes) {
                                hand.send(kUcxBytes, UcxKey{}, 1, Bytes(bytes.size()));
                              }},
                      Dropped{"AMessageOfAnotherNumber",
                              [](Hand& hand, std::span<const std::byte> /*bytes*/) {
                                hand.send(7, hand.key(), 1, Bytes(100));
                              }},
                      Dropped{"ThatItIsHereAgain",
                              [](Hand& hand, std::span<const std::byte> /*bytes*/) {
                                hand.send(kUcxHere, hand.key(), 0, {});
                              }}),
    [](const auto& dropped) { return dropped.param.name; });

TEST_P(DroppedByUcx, IsNotReadAndTheParcelLands) {
  const auto decode = servers_.decode(2);
  Link link = greeted([](Hand& hand, std::span<const std::byte> bytes) {
    GetParam().first(hand, bytes);
    hand.send(kUcxBytes, hand.key(), 1, bytes);
  });
  give(link, stamped(100'000));
  EXPECT_TRUE(std::holds_alternative<Landed>(heard(link))) << "with the bytes of its digest";
}

// --- what ends the connection ---

struct Ending {
  const char* name;
  Misdeed::Commit commit;
  const char* words;  // in the refusal; "": it closes, having heard that the endpoint is gone
};
void PrintTo(const Ending& ending, std::ostream* out) {
  *out << ending.name;
}
class EndedByUcx : public HostileByUcx, public ::testing::WithParamInterface<Ending> {};
INSTANTIATE_TEST_SUITE_P(
    Each, EndedByUcx,
    ::testing::Values(Ending{"LongerThanAnnounced",
                             [](Hand& hand, std::span<const std::byte> /*bytes*/) {
                               static const Bytes longer =
                                   stamped(1'000'000);  // is offered, and never fetched
                               hand.begin_to_send(1, longer);
                             },
                             "message 1 of 1000000 bytes, where message 1 of 100 was announced"},
                      Ending{"LongerThanAnnouncedInOnePiece",
                             [](Hand& hand, std::span<const std::byte> /*bytes*/) {
                               hand.send(kUcxBytes, hand.key(), 1, stamped(200));
                             },
                             "message 1 of 200 bytes, where message 1 of 100 was announced"},
                      Ending{"Truncated",
                             [](Hand& hand, std::span<const std::byte> /*bytes*/) {
                               hand.send(kUcxBytes, hand.key(), 1, stamped(50));
                             },
                             "message 1 of 50 bytes, where message 1 of 100 was announced"},
                      Ending{"ANumberThatIsNotNext",
                             [](Hand& hand, std::span<const std::byte> bytes) {
                               hand.send(kUcxBytes, hand.key(), 2, bytes);
                             },
                             "message 2 of 100 bytes, where message 1 of 100 was announced"},
                      Ending{"WithoutBytes",
                             [](Hand& hand, std::span<const std::byte> /*bytes*/) {
                               hand.send(kUcxBytes, hand.key(), 1, {});
                             },
                             "a message that was not announced"},
                      Ending{"AnEndpointThatIsClosedMidway",
                             [](Hand& hand, std::span<const std::byte> /*bytes*/) { hand.close(); },
                             ""}),
    [](const auto& ending) { return ending.param.name; });

TEST_P(EndedByUcx, IsNamedAndNothingOfItIsKept) {
  {
    const auto decode = servers_.decode(2);
    Link link = greeted(GetParam().commit);
    give(link, stamped(100));
    const auto given = std::chrono::steady_clock::now();
    const Message answer = heard(link);
    const auto* const refused = std::get_if<Refused>(&answer);
    EXPECT_LT(std::chrono::steady_clock::now() - given, Link::kPatience)
        << "it has heard of it, and not waited until its patience was over";
    if (*GetParam().words != '\0') {
      ASSERT_NE(refused, nullptr);
      EXPECT_EQ(refused->error.code, Code::invalid_argument);
      EXPECT_NE(refused->error.message.find(GetParam().words), std::string::npos)
          << refused->error.message;
    }
    EXPECT_FALSE(link.receive().ok());
    EXPECT_EQ(decode->ask("leave"), "ok");
  }
  all_is_well();
}

TEST_F(HostileByUcx, BytesThatWereNotAnnouncedEndTheConnection) {
  {
    const auto decode = servers_.decode(2);
    Link link = greeted([](Hand&, std::span<const std::byte>) {});
    ASSERT_TRUE(link.say(offer(1, 300)).ok());
    ASSERT_TRUE(std::holds_alternative<Go>(heard(link)));
    // One may be ahead of the frame that announces it.
    const Bytes bytes = stamped(100);
    for (const std::uint64_t number : {1U, 2U}) hand_->begin_to_send(number, bytes);
    const Message answer = heard(link);
    ASSERT_TRUE(std::holds_alternative<Refused>(answer));
    EXPECT_NE(std::get<Refused>(answer).error.message.find("a message that was not announced"),
              std::string::npos);
    EXPECT_EQ(decode->ask("leave"), "ok");
  }
  all_is_well();
}

TEST_F(HostileByUcx, BytesOverTlsWhereUcxWasAgreedOnEndTheConnection) {
  {
    const auto decode = servers_.decode(2);
    Link link = greeted([](Hand&, std::span<const std::byte>) {});
    ASSERT_TRUE(link.say(offer(1, 100)).ok());
    ASSERT_TRUE(std::holds_alternative<Go>(heard(link)));
    link.carry_by(nullptr);
    EXPECT_TRUE(link.send(stamped(100)).ok());
    EXPECT_EQ(code_of(heard(link)), "invalid_argument");
    EXPECT_EQ(decode->ask("leave"), "ok");
  }
  all_is_well();
}

TEST_F(HostileByUcx, WhoNeverSettlesWhatItOfferedIsSentAway) {
  Link link = connect();
  agree(link);
  EXPECT_TRUE(link.say(offer(1, 100)).ok());
  EXPECT_EQ(code_of(heard(link)), "invalid_argument");
  all_is_well();
}

TEST_F(HostileByUcx, WhoSaysItCouldNotReachUsIsServedOverTls) {
  const auto decode = servers_.decode(2);
  Link link = connect();
  agree(link);
  EXPECT_TRUE(link.say(Settled{false, "a firewall"}).ok());
  give(link, stamped(100'000));
  EXPECT_TRUE(std::holds_alternative<Landed>(heard(link)));
}

}  // namespace
}  // namespace aqua::courier
