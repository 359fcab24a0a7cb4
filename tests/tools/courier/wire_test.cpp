// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tools/courier/wire/frame.hpp"
#include "tools/courier/wire/messages.hpp"

namespace aqua::courier {
namespace {

Parcel offered() {
  return {.number = 7,
          .id = "request 1",
          .turn = 9,
          .given = 8,
          .from = "prefill",
          .segment = {.number = 3, .generation = 2, .bytes = 1 << 20, .digest = {1, 2, 3}},
          .tokens = 120,
          .note = std::string("\0\xff\"", 3)};
}

UcxPoint reached() {
  return {{1, 2, 254, 255}, std::string("\0\x7f\xff a", 5)};
}

TEST(CourierFrames, AreReadAsTheyWereWritten) {
  for (const FrameHead head :
       {FrameHead{FrameKind::words, 1},
        FrameHead{FrameKind::words, static_cast<std::uint32_t>(kMostWords)},
        FrameHead{FrameKind::bytes, static_cast<std::uint32_t>(kMostBytes)},
        FrameHead{FrameKind::carried, static_cast<std::uint32_t>(kMostCarried)}}) {
    EXPECT_EQ(decode_head(encode(head)).value(), head);
  }
}

TEST(CourierFrames, ThatCannotBeAreRefused) {
  for (const FrameHead head :
       {FrameHead{FrameKind::words, 0},
        FrameHead{FrameKind::words, static_cast<std::uint32_t>(kMostWords + 1)},
        FrameHead{FrameKind::bytes, static_cast<std::uint32_t>(kMostBytes + 1)},
        FrameHead{FrameKind::carried, static_cast<std::uint32_t>(kMostCarried + 1)},
        FrameHead{static_cast<FrameKind>(4), 1}}) {
    EXPECT_EQ(decode_head(encode(head)).error().code, Code::invalid_argument);
  }
}

TEST(CourierMessages, AreReadAsTheyWereWritten) {
  const std::vector<Message> all{
      Hello{.pool = "smollm2", .from = "prefill", .to = "decode", .index = 3},
      Hello{.pool = "smollm2", .from = "prefill", .to = "decode", .ucx = reached()},
      MirrorHello{},
      MirrorHello{.ucx = reached()},
      Welcome{},
      Welcome{reached(), ""},
      Welcome{{}, "no RDMA device"},
      Settled{true, ""},
      Settled{false, "nothing has come"},
      Held{{{1, 2, 3}, {1, 4, 5}}},
      Copy{5, {1, 2, 3}, 1 << 20, {1, 2, 3}},
      Forget{{1, 2, 3}},
      Offer{5, offered()},
      Withdraw{7},
      CutOff{{"request 1", 9}},
      Go{8},
      Stale{9, 12},
      Later{10},
      Landed{11},
      Ended{12, ParcelEvent::cancelled}};
  for (const Message& message : all) {
    const auto read = decode(encode(message));
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(encode(*read), encode(message));
    EXPECT_EQ(read->index(), message.index());
  }
  EXPECT_EQ(std::get<Offer>(decode(encode(Offer{5, offered()})).value()).parcel, offered());
  const auto refused = decode(encode(Refused{4, {Code::resource_exhausted, "no room"}}));
  EXPECT_EQ(std::get<Refused>(refused.value()).error.code, Code::resource_exhausted);
  EXPECT_EQ(std::get<Refused>(refused.value()).error.message, "no room");
}

TEST(CourierMessages, AnothersWordsForPeopleStayInALine) {
  const auto read =
      decode(encode(Refused{0, {Code::unavailable, "a\nb\x1b[2J" + std::string(900, 'c')}}));
  const std::string& message = std::get<Refused>(read.value()).error.message;
  EXPECT_EQ(message.substr(0, 7), "a?b?[2J");
  EXPECT_EQ(message.size(), 500U);
  for (const char* const words :
       {R"({"say":"a\nb\u001b[2J","number":1})", R"({"say":"welcome","a\nb\u001b[2J":1})"}) {
    const std::string why = decode(words).error().message;
    EXPECT_NE(why.find("'a?b?[2J'"), std::string::npos) << why;
  }
}

TEST(CourierMessages, APointOfUcxKeepsItsBytesAndTheLongestGoesIntoAFrame) {
  EXPECT_EQ(std::get<Welcome>(decode(encode(Welcome{reached(), ""})).value()).ucx, reached());
  const UcxPoint longest{{}, std::string(kLongestUcxAddress, '\xff')};
  const std::string words =
      encode(Hello{.pool = std::string(128, '\\'), .from = "f", .to = "t", .ucx = longest});
  EXPECT_LE(words.size(), kMostWords);
  EXPECT_EQ(std::get<Hello>(decode(words).value()).ucx, longest);
}

TEST(CourierMessages, TheLongestOfferGoesIntoAFrame) {
  Parcel parcel = offered();
  parcel.id = std::string(256, '"');  // which takes two bytes each
  parcel.note = std::string(4096, '\xff');
  parcel.from = std::string(128, '\\');
  EXPECT_LE(encode(Offer{5, parcel}).size(), kMostWords);
}

TEST(CourierMessages, ThatCannotBeAreRefused) {
  Parcel no_segment = offered(), no_given = offered(), no_bytes = offered();
  no_segment.segment = {};
  no_given.given = 0;
  no_bytes.segment.bytes = 0;
  for (const std::string& words :
       {std::string("{}"), std::string("["), std::string("{\"say\":\"boo\",\"number\":1}"),
        std::string("{\"say\":\"go\"}"), std::string("{\"say\":\"go\",\"number\":-1}"),
        std::string("{\"say\":\"go\",\"number\":1,\"more\":2}"), std::string(2000, '['),
        std::string(
            "{\"say\":\"welcome\",\"why_not\":\"\",\"ucx\":{\"key\":\"00\",\"address\":\"00\"}}"),
        encode(Welcome{UcxPoint{{}, ""}, ""}),
        encode(Welcome{UcxPoint{{}, std::string(kLongestUcxAddress + 1, 'a')}, ""}),
        std::string("{\"say\":\"offer\",\"parcel\":4}"), encode(Offer{5, no_segment}),
        encode(Offer{5, no_given}), encode(Offer{0, offered()}), encode(Offer{5, no_bytes})}) {
    const auto read = decode(words);
    ASSERT_FALSE(read.ok()) << words.substr(0, 80);
    EXPECT_EQ(read.error().code, Code::invalid_argument);
  }
}

}  // namespace
}  // namespace aqua::courier
