// SPDX-License-Identifier: Apache-2.0
#include "parcel/segment_wire.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/base/code_of.hpp"

namespace aqua::segment_wire {
namespace {

constexpr SegmentDigest kDigest{0, 1, 0xab, 0xff};
constexpr SegmentName kName{.number = 7, .generation = 3, .bytes = 1 << 20, .digest = kDigest};

std::vector<Request> one_of_each() {
  return {Join{},     Watch{},  Reserve{1 << 21}, Commit{7, 1 << 20, kDigest, 5},
          Open{7, 3}, Close{7}, Drop{7, 3},       GiveUp{7},
          Returned{}, Leave{},  List{9},          Disk{}};
}

TEST(SegmentWire, EveryRequestArrivesAsItWasSent) {
  const auto requests = one_of_each();
  ASSERT_EQ(requests.size(), std::variant_size_v<Request>);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::string sent = encode(requests[i]);
    const auto heard = decode_request(sent);
    ASSERT_TRUE(heard.ok()) << sent << ": " << heard.error().message;
    ASSERT_TRUE(heard->has_value());
    EXPECT_EQ((*heard)->index(), i);
    EXPECT_EQ(encode(**heard), sent);
  }
  EXPECT_EQ(std::get<Commit>(**decode_request(encode(requests[3]))).digest, kDigest);
}

TEST(SegmentWire, ACopySaysWhatItIsACopyOf) {
  const Commit copy{.number = 7, .bytes = 9, .copy_of = SegmentOrigin{"a.test", 1, 2, 3}};
  const auto heard = decode_request(encode(copy));
  ASSERT_TRUE(heard.ok()) << heard.error().message;
  EXPECT_EQ(std::get<Commit>(**heard).copy_of, copy.copy_of);
  for (const Commit& bad :
       {Commit{.number = 7, .parcel = 5, .copy_of = SegmentOrigin{"a", 1, 2, 3}},
        Commit{.number = 7, .copy_of = SegmentOrigin{"", 1, 2, 3}},
        Commit{.number = 7, .copy_of = SegmentOrigin{"a\n", 1, 2, 3}},
        Commit{.number = 7, .copy_of = SegmentOrigin{std::string(254, 'a')}}}) {
    EXPECT_EQ(code_of(decode_request(encode(bad))), "invalid_argument");
  }
}

TEST(SegmentWire, WhetherACopyIsAdoptedOrGoesWithItsOriginalArrives) {
  for (const bool yes : {false, true}) {
    const auto close = decode_request(encode(Close{.number = 7, .adopt = yes}));
    EXPECT_EQ(std::get<Close>(**close).adopt, yes);
    const auto drop = decode_request(encode(Drop{.number = 7, .generation = 3, .as_copy = yes}));
    EXPECT_EQ(std::get<Drop>(**drop).as_copy, yes);
  }
  EXPECT_EQ(encode(Close{7}).find("adopt"), std::string::npos) << "as earlier keepers have it";
}

TEST(SegmentWire, RequestsOfAnotherKindAreLeftToOthers) {
  EXPECT_FALSE(decode_request(R"({"op":"pool-leave"})")->has_value());
  EXPECT_FALSE(decode_request("rubbish")->has_value());
}

TEST(SegmentWire, RepliesAndRefusalsArrive) {
  const Reply reply{.name = kName,
                    .capacity = 1 << 21,
                    .numbers = {3, 1},
                    .rows = {{kName, 1 << 21, 4, true, 2, true, SegmentOrigin{"a.test", 1, 2, 3}}},
                    .more = true,
                    .disk = SegmentDisk{.directory = "/disk",
                                        .error = "it is full",
                                        .writes = true,
                                        .quota_bytes = 9,
                                        .file_bytes = 8,
                                        .durable = {1, 2},
                                        .pending = {3, 4},
                                        .memory_only = {5, 6},
                                        .left = {7, 8}}};
  const auto heard = decode_reply(encode(reply));
  ASSERT_TRUE(heard.ok()) << heard.error().message;
  EXPECT_EQ(*heard, reply);
  const auto refused = decode_reply(encode(Error{Code::aborted, "gone"}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::aborted);
}

TEST(SegmentWire, WhatCannotBeIsRefused) {
  for (
      const char* const packet :
      {R"({"op":"segment-"})", R"({"op":"segment-reserve"})",
       R"({"op":"segment-reserve","bytes":-1})", R"({"op":"segment-reserve","bytes":1e30})",
       R"({"op":"segment-open","number":1})", R"({"op":"segment-join","more":1})",
       R"({"op":"segment-close","number":"1"})",
       R"({"op":"segment-commit","number":1,"bytes":1,"digest":"00"})",
       R"({"op":"segment-commit","number":1,"bytes":1,"digest":"0000000000000000000000000000000g"})"}) {
    const auto heard = decode_request(packet);
    ASSERT_FALSE(heard.ok()) << packet;
    EXPECT_EQ(heard.error().code, Code::invalid_argument) << packet;
  }
  const std::string answer = encode(Reply{.disk = SegmentDisk{}});
  ASSERT_TRUE(decode_reply(answer).ok());
  const std::string bytes = R"("durable":{"bytes":0)";
  for (const std::string wrong : {R"("durable":{"bytes":-1)", R"("durable":{"byte":0)"}) {
    std::string other = answer;
    other.replace(other.find(bytes), bytes.size(), wrong);
    ASSERT_FALSE(decode_reply(other).ok()) << other;
    EXPECT_EQ(decode_reply(other).error().code, Code::invalid_argument) << other;
  }
  for (const char* const packet : {"", "{}", "[1]", R"({"error":"aborted"})"}) {
    const auto heard = decode_reply(packet);
    ASSERT_FALSE(heard.ok()) << packet;
    EXPECT_EQ(heard.error().code, Code::invalid_argument) << packet;
  }
}

TEST(SegmentWire, TheLongestAnswersFitIntoAPacket) {
  constexpr std::uint64_t kLarge = 999'999'999'999'999;
  const SegmentName name{kLarge, kLarge, keeper_wire::kMostBytes, kDigest};
  Reply rows;
  rows.rows.assign(kMostRows,
                   {name, keeper_wire::kMostBytes, kLarge, false, ~std::uint32_t{0}, true});
  EXPECT_LE(encode(rows).size(), keeper_wire::kMaxPacket);
  Reply numbers;
  numbers.numbers.assign(kMostNumbers, kLarge);
  EXPECT_LE(encode(numbers).size(), keeper_wire::kMaxPacket);
}

}  // namespace
}  // namespace aqua::segment_wire
