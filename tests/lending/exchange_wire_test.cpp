// SPDX-License-Identifier: Apache-2.0
// docs/internals/exchange.md, byte by byte.
#include "lending/exchange_wire.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/device/contract.hpp"

namespace aqua::lending {
namespace {

using device::fails_with;
using device::succeeds;
using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::initializer_list<unsigned> values) {
  Bytes bytes;
  for (const unsigned value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

template <typename Tag>
Id128<Tag> counting_id(unsigned first) {
  Id128<Tag> id;
  for (std::uint8_t& b : id.bytes) b = static_cast<std::uint8_t>(first++);
  return id;
}

template <typename T>
T round_trip(const T& message) {
  auto decoded = decode(encode(message));
  EXPECT_TRUE(succeeds(decoded));
  return std::get<T>(*decoded);
}

Fetch some_fetch(std::size_t count) {
  Fetch fetch;
  for (std::size_t i = 0; i < count; ++i) {
    fetch.entries.push_back({static_cast<std::uint32_t>(0xfffffff0 + i), 0x8000000000000001 + i,
                             counting_id<LeaseTag>(static_cast<unsigned>(i))});
  }
  return fetch;
}

TEST(ExchangeWire, AHelloHasTheBytesOfThePage) {
  const Bytes expected = bytes_of(
      {0x41, 0x51, 0x58, 0x31, 1, 0, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
  EXPECT_EQ(encode(Hello{counting_id<ClientTag>(1)}), expected);
}

TEST(ExchangeWire, AGiveBackIsLittleEndian) {
  const Bytes expected = bytes_of({0x41, 0x51, 0x58, 0x31, 3, 0, 1, 0,  //
                                   4,    3,    2,    1,    0, 0, 0, 0,  //
                                   8,    7,    6,    5,    4, 3, 2, 1});
  EXPECT_EQ(encode(GiveBack{{{0x01020304, 0x0102030405060708}}}), expected);
}

TEST(ExchangeWire, HellosComeBackAsTheyWere) {
  EXPECT_EQ(round_trip(Hello{counting_id<ClientTag>(9)}).client, counting_id<ClientTag>(9));
}

TEST(ExchangeWire, FetchesOfEverySizeComeBackAsTheyWere) {
  for (std::size_t count = 1; count <= kMaxExchangeEntries; ++count) {
    const Fetch fetch = some_fetch(count);
    const Fetch back = round_trip(fetch);
    ASSERT_EQ(back.entries.size(), count);
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(back.entries[i].index, fetch.entries[i].index);
      EXPECT_EQ(back.entries[i].generation, fetch.entries[i].generation);
      EXPECT_EQ(back.entries[i].secret, fetch.entries[i].secret);
    }
  }
}

TEST(ExchangeWire, GiveBacksAndRepliesComeBackAsTheyWere) {
  const GiveBack give_back = round_trip(GiveBack{{{1, 2}, {0xffffffff, UINT64_MAX}}});
  ASSERT_EQ(give_back.entries.size(), 2U);
  EXPECT_EQ(give_back.entries[1].index, 0xffffffff);
  EXPECT_EQ(give_back.entries[1].generation, UINT64_MAX);
  const Reply reply = round_trip(Reply{{{0, 1ULL << 40}, {to_reply_code(Code::aborted), 0}}});
  ASSERT_EQ(reply.entries.size(), 2U);
  EXPECT_EQ(reply.entries[0].bytes, 1ULL << 40);
  EXPECT_EQ(from_reply_code(reply.entries[1].code), Code::aborted);
}

TEST(ExchangeWire, TheLargestMessageFitsTheLimit) {
  EXPECT_EQ(encode(some_fetch(kMaxExchangeEntries)).size(), kMaxExchangeBytes);
}

TEST(ExchangeWire, EveryCodeSurvivesAReply) {
  for (unsigned i = 0; i <= static_cast<unsigned>(Code::internal); ++i) {
    EXPECT_EQ(from_reply_code(to_reply_code(static_cast<Code>(i))), static_cast<Code>(i));
  }
}

TEST(ExchangeWire, ACodeOfANewerExporterReadsAsInternal) {
  EXPECT_EQ(from_reply_code(2 + static_cast<unsigned>(Code::internal)), Code::internal);
  EXPECT_EQ(from_reply_code(UINT32_MAX), Code::internal);
}

TEST(ExchangeWire, EveryOtherLengthIsRefused) {
  for (const Bytes& whole : {encode(Hello{}), encode(some_fetch(2)), encode(GiveBack{{{1, 1}}}),
                             encode(Reply{{{0, 1}, {0, 2}}})}) {
    for (std::size_t length = 0; length < whole.size(); ++length) {
      EXPECT_CODE(Code::invalid_argument, decode(std::span(whole).first(length))) << length;
    }
    Bytes longer = whole;
    longer.push_back(std::byte{0});
    EXPECT_CODE(Code::invalid_argument, decode(longer));
  }
}

// `whole` with one byte changed.
Bytes with(Bytes whole, std::size_t at, unsigned value) {
  whole.at(at) = static_cast<std::byte>(value);
  return whole;
}

TEST(ExchangeWire, AnotherMagicIsRefused) {
  for (std::size_t at = 0; at < 4; ++at) {
    EXPECT_CODE(Code::invalid_argument, decode(with(encode(Hello{}), at, 0)));
  }
}

TEST(ExchangeWire, UnknownTypesAreRefused) {
  for (const unsigned type : {0U, 5U, 6U, 255U}) {
    EXPECT_CODE(Code::invalid_argument, decode(with(encode(Hello{}), 4, type)));
  }
  EXPECT_CODE(Code::invalid_argument, decode(with(encode(Hello{}), 5, 1)));
}

TEST(ExchangeWire, CountsThatDoNotFitAreRefused) {
  EXPECT_CODE(Code::invalid_argument, decode(with(encode(GiveBack{{{1, 1}}}), 6, 0)));
  EXPECT_CODE(Code::invalid_argument, decode(with(encode(GiveBack{{{1, 1}}}), 6, 2)));
  EXPECT_CODE(Code::invalid_argument, decode(with(encode(GiveBack{{{1, 1}}}), 7, 1)));
  Bytes none = encode(GiveBack{{{1, 1}}});
  none.resize(8);
  EXPECT_CODE(Code::invalid_argument, decode(with(none, 6, 0)));
}

TEST(ExchangeWire, MoreThan64EntriesAreRefused) {
  Bytes many = with(encode(GiveBack{{{1, 1}}}), 6, 65);
  many.resize(8 + 65 * 16);
  EXPECT_CODE(Code::invalid_argument, decode(many));
}

TEST(ExchangeWire, AHelloOfTwoIsRefused) {
  Bytes two = with(encode(Hello{}), 6, 2);
  two.resize(8 + 2 * 16);
  EXPECT_CODE(Code::invalid_argument, decode(two));
}

TEST(ExchangeWire, ReservedBitsAreRefused) {
  for (const std::size_t at : {12U, 15U}) {
    EXPECT_CODE(Code::invalid_argument, decode(with(encode(some_fetch(1)), at, 1)));
    EXPECT_CODE(Code::invalid_argument, decode(with(encode(GiveBack{{{1, 1}}}), at, 1)));
    EXPECT_CODE(Code::invalid_argument, decode(with(encode(Reply{{{0, 1}}}), at, 0x80)));
  }
  EXPECT_CODE(Code::invalid_argument, decode(with(encode(some_fetch(2)), 8 + 32 + 4, 1)));
}

}  // namespace
}  // namespace aqua::lending
