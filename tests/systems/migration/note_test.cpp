// SPDX-License-Identifier: Apache-2.0
// A note crosses as it is; what is none is refused by name.
#include "aqua/migration/note.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace aqua::migration::test {
namespace {

MigrationNote full() {
  return {.kind = Kind::tokens,
          .turn = 0x0102030405060708,
          .prompt_tokens = 1000,
          .generated_tokens = 234,
          .kv_tokens = 1233,
          .max_new_tokens = 512,
          .pending_token = 128009,
          .sampler = {.seed = 77,
                      .temperature = 0.7F,
                      .top_p = 0.9F,
                      .min_p = 0.05F,
                      .top_k = 40,
                      .repetition_penalty = 1.1F,
                      .frequency_penalty = 0.2F,
                      .presence_penalty = -0.3F},
          .tenant = 9,
          .weight = 2.5,
          .lead = -0.125,
          .model = "llama-3-8b@5d2f",
          .engine_state = std::string("\0\xff state", 8)};
}

TEST(Note, CrossesWithEveryField) {
  const auto bytes = encode(full());
  ASSERT_TRUE(bytes.ok()) << bytes.error().message;
  const auto note = decode(*bytes, full().model);
  ASSERT_TRUE(note.ok()) << note.error().message;
  EXPECT_EQ(*note, full());
}

// The offsets that the page names.
TEST(Note, HasTheBytesOfThePage) {
  const std::string bytes = *encode(full());
  EXPECT_EQ(bytes.substr(0, 6), std::string("AQMN\1\1", 6));
  EXPECT_EQ(bytes.substr(6, 8), "\x08\x07\x06\x05\x04\x03\x02\x01");
  EXPECT_EQ(bytes.substr(14, 4), std::string("\xe8\x03\0\0", 4)) << "prompt_tokens";
  EXPECT_EQ(bytes.substr(30, 4), std::string("\x09\xf4\x01\0", 4)) << "pending_token";
  EXPECT_EQ(bytes.substr(34, 4), std::string("\x4d\0\0\0", 4)) << "seed";
  EXPECT_EQ(bytes.substr(70, 4), std::string("\x09\0\0\0", 4)) << "tenant";
  EXPECT_EQ(bytes.substr(94, 2), std::string("\x0f\0", 2)) << "bytes of model";
  EXPECT_EQ(bytes.substr(96, 15), full().model);
  EXPECT_EQ(bytes.size(), 96 + 15 + 2 + 8U);
}

TEST(Note, CutShortAnywhereIsRefused) {
  const std::string bytes = *encode(full());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto note = decode(bytes.substr(0, size), full().model);
    ASSERT_FALSE(note.ok()) << size;
    EXPECT_EQ(note.error().code, Code::invalid_argument) << size;
  }
  const auto longer = decode(bytes + "x", full().model);
  ASSERT_FALSE(longer.ok());
  EXPECT_EQ(longer.error().message, "note: 1 bytes behind its end");
}

TEST(Note, OfAnotherVersionOrModelIsRefusedWithItsOwnCode) {
  std::string bytes = *encode(full());
  const auto other = decode(bytes, "another");
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, Code::failed_precondition);
  EXPECT_EQ(other.error().message, "note: of model 'llama-3-8b@5d2f', here is 'another'");
  bytes[4] = 2;
  const auto newer = decode(bytes, full().model);
  ASSERT_FALSE(newer.ok());
  EXPECT_EQ(newer.error().code, Code::unimplemented);
  bytes[4] = 1;
  bytes[5] = 7;
  EXPECT_EQ(decode(bytes, full().model).error().message, "note: kind is none");
}

TEST(Note, WhatCannotBeIsNamedOnBothWays) {
  const auto refused = [](const std::function<void(MigrationNote&)>& change, const char* what) {
    MigrationNote note = full();
    change(note);
    const auto bytes = encode(note);
    ASSERT_FALSE(bytes.ok()) << what;
    EXPECT_EQ(bytes.error().code, Code::invalid_argument) << what;
    EXPECT_NE(bytes.error().message.find(what), std::string::npos) << bytes.error().message;
  };
  constexpr float kNoNumber = std::numeric_limits<float>::quiet_NaN();
  refused([](auto& note) { note.turn = 0; }, "turn is 0");
  refused([](auto& note) { note.prompt_tokens = 0; }, "prompt_tokens is 0");
  refused([](auto& note) { note.generated_tokens = 0; }, "generated_tokens is 0");
  refused([](auto& note) { note.kv_tokens = 1234; }, "kv_tokens 1234 of 1234");
  refused([](auto& note) { note.generated_tokens = UINT32_MAX; }, "more than 2^32 tokens");
  refused([=](auto& note) { note.sampler.temperature = kNoNumber; }, "temperature is nan");
  refused([=](auto& note) { note.sampler.top_p = kNoNumber; }, "top_p is nan");
  refused([=](auto& note) { note.sampler.min_p = kNoNumber; }, "min_p is nan");
  refused([=](auto& note) { note.sampler.repetition_penalty = kNoNumber; }, "repetition_penalty");
  refused([=](auto& note) { note.sampler.frequency_penalty = kNoNumber; }, "frequency_penalty");
  refused([=](auto& note) { note.sampler.presence_penalty = kNoNumber; }, "presence_penalty");
  refused([](auto& note) { note.weight = HUGE_VAL; }, "weight is inf");
  refused([](auto& note) { note.lead = -HUGE_VAL; }, "lead is -inf");
  refused([](auto& note) { note.model.clear(); }, "model has 0 bytes");
  refused([](auto& note) { note.model.assign(257, 'm'); }, "model has 257 bytes");
  refused([](auto& note) { note.model = "a\nb"; }, "printable");
  refused([](auto& note) { note.engine_state.assign(4000, 's'); }, "more than 4096");
}

TEST(Note, OfTheLargestSizeCrosses) {
  MigrationNote note = full();
  note.engine_state.clear();
  const std::size_t around = encode(note)->size();
  note.engine_state.assign(kMostNoteBytes - around, 's');
  const std::string bytes = *encode(note);
  EXPECT_EQ(bytes.size(), kMostNoteBytes);
  EXPECT_EQ(*decode(bytes, note.model), note);
  EXPECT_EQ(decode(bytes + "x", note.model).error().message, "note: 4097 bytes, more than 4096");
}

}  // namespace
}  // namespace aqua::migration::test
