// SPDX-License-Identifier: Apache-2.0
#include "systems/kv_stream/decide/stream/note.hpp"

#include <gtest/gtest.h>

#include <set>

namespace aqua::kv_stream {
namespace {

const StreamNote kNote{.agreement = 0xabcdef,
                       .from = {"prefill", 3},
                       .sequence = UINT64_MAX,
                       .attempt = 2,
                       .words = "token 7, and  more "};

TEST(StreamNote, IsReadAsItWasWritten) {
  EXPECT_EQ(write_note(kNote),
            "aqua-stream 1 abcdef prefill 3 18446744073709551615 2 token 7, and  more ");
  EXPECT_EQ(parse_note(write_note(kNote)).value(), kNote);
  StreamNote silent = kNote;
  silent.words.clear();
  EXPECT_EQ(parse_note(write_note(silent)).value(), silent);
  silent.words = std::string(kLongestWords, '\0');
  EXPECT_EQ(parse_note(write_note(silent)).value(), silent);
}

TEST(StreamNote, AnyOtherTextIsRefused) {
  const std::string longest(kLongestWords + 1, 'x');
  for (const std::string& text : {
           std::string(),
           std::string("aqua-stream 1"),
           std::string("aqua-stream 2 1 prefill 3 7 1 "),
           std::string("aqua-stream 1 1 prefill 3 7 1"),    // no space before the words
           std::string("aqua-stream 1 G prefill 3 7 1 "),   // no such digit
           std::string("aqua-stream 1 AB prefill 3 7 1 "),  // is written ab
           std::string("aqua-stream 1 1 pre.fill 3 7 1 "),  // the dot ends a name
           std::string("aqua-stream 1 1  3 7 1 "),          // no name
           std::string("aqua-stream 1 1 prefill -3 7 1 "),  // no rank
           std::string("aqua-stream 1 1 prefill 4294967296 7 1 "),
           std::string("aqua-stream 1 1 prefill 03 7 1 "),  // is written 3
           std::string("aqua-stream 1 1 prefill 3 18446744073709551616 1 "),
           std::string("aqua-stream 1 1 prefill 3 7 0 "),  // attempts count from 1
           "aqua-stream 1 1 prefill 3 7 1 " + longest,
       }) {
    const auto parsed = parse_note(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().code, Code::invalid_argument);
  }
}

TEST(StreamNote, NamesOfGroupsAreShortAndPlain) {
  EXPECT_TRUE(check_group("Decode_2-b").ok());
  EXPECT_TRUE(check_group(std::string(kLongestGroup, 'x')).ok());
  for (const std::string& name : {std::string(), std::string("a b"), std::string("a.b"),
                                  std::string("\xc3\xa4"), std::string(kLongestGroup + 1, 'x')}) {
    EXPECT_EQ(check_group(name).error().code, Code::invalid_argument) << name;
  }
}

// "a.1" and rank 2 cannot be taken for "a" and rank 12: the dot is in no name.
TEST(StreamNote, EachPairOfRanksHasItsOwnIdAndRole) {
  std::set<std::string> ids, roles;
  for (const char* const group : {"a", "a1", "b"}) {
    for (const std::uint32_t rank : {0U, 1U, 11U}) {
      roles.insert(role_of({group, rank}));
      for (const std::uint64_t sequence : {1ULL, 11ULL}) {
        ids.insert(id_of({group, rank}, {"to", 0}, sequence));
        ids.insert(id_of({"from", 0}, {group, rank}, sequence));
      }
    }
  }
  EXPECT_EQ(roles.size(), 9U);
  EXPECT_EQ(ids.size(), 36U);
}

TEST(StreamNote, AnIdIsReadByTheRankThatItGoesTo) {
  const StreamEnd from{"prefill", 3}, to{"decode", 0};
  for (const std::uint64_t sequence : {std::uint64_t{0}, std::uint64_t{7}, UINT64_MAX}) {
    EXPECT_EQ(parse_id(id_of(from, to, sequence), to), (StreamId{from, sequence}));
    EXPECT_EQ(parse_id(id_of(from, to, sequence), {"decode", 1}), std::nullopt);
    EXPECT_EQ(parse_id(id_of(from, to, sequence) + "0", to), std::nullopt);
  }
  for (const char* const id :
       {"", "sequence", "sequence ", "sequence 07 from prefill.3 to decode.0",
        "request 7 from prefill.3 to decode.0", "sequence 7 from prefill to decode.0",
        "sequence 7 from prefill.x to decode.0"}) {
    EXPECT_EQ(parse_id(id, to), std::nullopt) << id;
  }
}

TEST(StreamNote, AParcelThatWasTakenOftenIsOfAnEarlierTurnThanTheNextAttempt) {
  EXPECT_LT(turn_of(1) + 1'000'000, turn_of(2));
  EXPECT_LT(turn_of(kMostAttempt - 1) + 1'000'000, turn_of(kMostAttempt));
  EXPECT_EQ(turn_of(kMostAttempt), kMostTurn) << "and takes have room above it";
  EXPECT_EQ(attempt_in(turn_of(2) + 1'000'000), 2U);
  EXPECT_EQ(attempt_in(turn_of(kMostAttempt)), kMostAttempt);
}

}  // namespace
}  // namespace aqua::kv_stream
