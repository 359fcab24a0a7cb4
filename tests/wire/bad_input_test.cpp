// SPDX-License-Identifier: Apache-2.0
// Every class of bad input gives invalid_argument and names the field.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <typeinfo>

#include "tests/wire/samples.hpp"
#include "wire/limits.hpp"

namespace aqua::wire {
namespace {

using nlohmann::json;
using samples::kNow;
using ::testing::HasSubstr;

template <typename Message>
void expect_refused(const std::string& text, const std::string& named) {
  const auto decoded = decode<Message>(text, kNow);
  ASSERT_FALSE(decoded.ok()) << typeid(Message).name() << " took " << text;
  EXPECT_EQ(decoded.error().code, Code::invalid_argument);
  EXPECT_THAT(decoded.error().message, HasSubstr(named));
}

json offer() {
  return json::parse(encode(samples::offer_request()));
}

TEST(BadInput, NotAnObject) {
  for (const char* text :
       {"", " ", "null", "1", "[]", "\"x\"", "{", "{]", "{\"bytes\":1}x", "{'bytes':1}"}) {
    expect_refused<LeaseRequest>(text, "body: not");
  }
}

TEST(BadInput, NotUtf8) {
  json join = json::parse(encode(JoinRequest{samples::client_info()}));
  std::string text = join.dump();
  text.replace(text.find("emu:0"), 1, "\xff");
  expect_refused<JoinRequest>(text, "UTF-8");
}

TEST(BadInput, EachFieldThatIsMissingIsNamed) {
  samples::for_each([]<typename Message>(const Message& sample) {
    const json whole = json::parse(encode(sample, kNow));
    for (const auto& [name, value] : whole.items()) {
      if (name == "holder" || name == "snapshot" || name == "pid" || name == "host" ||
          name == "may_exist" || name == "rank")
        continue;                                                          // optional
      if (std::is_same_v<Message, Servers> && name == "age_ms") continue;  // never read
      json part = whole;
      part.erase(name);
      expect_refused<Message>(part.dump(), name + ": is missing");
      part[name] = nullptr;
      expect_refused<Message>(part.dump(), name + ": is missing");
    }
  });
}

TEST(BadInput, EachFieldOfTheWrongTypeIsNamed) {
  samples::for_each([]<typename Message>(const Message& sample) {
    const json whole = json::parse(encode(sample, kNow));
    for (const auto& [name, value] : whole.items()) {
      json part = whole;
      part[name] = value.is_number() ? json("7") : json(1.5);
      expect_refused<Message>(part.dump(), name + ": ");
    }
  });
}

TEST(BadInput, FieldInsideAnArrayIsNamedWithItsPlace) {
  json text = offer();
  text["slabs"].push_back(text["slabs"][0]);
  text["slabs"][1]["bytes"] = -1;
  expect_refused<OfferRequest>(text.dump(), "slabs[1].bytes: ");
  text["slabs"][1] = 3;
  expect_refused<OfferRequest>(text.dump(), "slabs[1]: is not an object");
}

TEST(BadInput, NumbersOutOfRange) {
  for (const char* number : {"-1", "18446744073709551616", "1e3", "1.0", "true", "\"1\""}) {
    expect_refused<LeaseRequest>(std::string(R"({"exit_bytes":0,"bytes":)") + number + "}",
                                 "bytes: ");
  }
  expect_refused<LeaseRequest>(R"({"exit_bytes":0,"bytes":0})", "bytes: ");
  json text = offer();
  text["slabs"][0]["index"] = 4'294'967'296;
  expect_refused<OfferRequest>(text.dump(), "slabs[0].index: ");
  text = offer();
  text["slabs"][0]["generation"] = 0;
  expect_refused<OfferRequest>(text.dump(), "slabs[0].generation: ");
  expect_refused<WithdrawRequest>(R"({"indexes":[1,-1]})", "indexes: element 1");
  expect_refused<ReclaimRequest>(R"({"bytes":1,"within_ms":86400001})", "within_ms: ");
}

TEST(BadInput, LargestNumbersAreTaken) {
  const auto lease =
      decode<LeaseRequest>(R"({"exit_bytes":18446744073709551615,"bytes":18446744073709551615})");
  ASSERT_TRUE(lease.ok());
  EXPECT_EQ(lease->bytes, UINT64_MAX);
}

TEST(BadInput, IdsOfTheWrongLength) {
  for (const std::string& id :
       {std::string(), std::string(31, 'a'), std::string(33, 'a'), std::string(32, 'g')}) {
    json text = offer();
    text["slabs"][0]["secret"] = id;
    expect_refused<OfferRequest>(text.dump(), "slabs[0].secret: is not 32 hex digits");
    text = offer();
    text["slabs"][0]["holder"] = id;
    expect_refused<OfferRequest>(text.dump(), "slabs[0].holder: is not 32 hex digits");
  }
  expect_refused<Hello>(R"({"version":1,"client":"00000000000000000000000000000000"})",
                        "client: is nil");
}

TEST(BadInput, TextTooLongOrWithControlCharacters) {
  json join = json::parse(encode(JoinRequest{samples::client_info()}));
  join["name"] = std::string(kMaxName, 'x');
  EXPECT_TRUE(decode<JoinRequest>(join.dump()).ok());
  join["name"] = std::string(kMaxName + 1, 'x');
  expect_refused<JoinRequest>(join.dump(), "name: has 129 bytes, at most 128");
  for (const char* name : {"\x1b[31m", "\xc2\x9b[1m", "a\xe2\x80\xaez", "a\xe2\x80\xa8z"}) {
    join["name"] = name;
    expect_refused<JoinRequest>(join.dump(), "name: contains control characters");
  }
  join["name"] = "ok";
  join["exchange"] = std::string(kMaxPath + 1, 'x');
  expect_refused<JoinRequest>(join.dump(), "exchange: ");
}

TEST(BadInput, NamesThatNobodyKnows) {
  json reply = json::parse(encode(
      WatchReply{
          .epoch = samples::kEpoch, .last_event = 1, .events = {samples::event()}, .snapshot = {}},
      kNow));
  reply["events"][0]["kind"] = "party";
  expect_refused<WatchReply>(reply.dump(), "events[0].kind: ");
  expect_refused<ErrorReply>(
      R"({"code":"oops","message":"","epoch":"00000000000000000000000000000000"})", "code: ");
}

TEST(BadInput, ArraysTooLong) {
  json text = offer();
  const json slab = text["slabs"][0];
  text["slabs"] = json::array();
  for (std::size_t i = 0; i < kMaxBatch; ++i) text["slabs"].push_back(slab);
  EXPECT_TRUE(decode<OfferRequest>(text.dump()).ok());
  text["slabs"].push_back(slab);
  expect_refused<OfferRequest>(text.dump(), "slabs: has 4097 elements, at most 4096");
}

TEST(BadInput, BodiesTooLarge) {
  const std::string text = R"({"bytes":1,"exit_bytes":1})";
  EXPECT_TRUE(decode<LeaseRequest>(text + std::string(kMaxRequestBytes - text.size(), ' ')).ok());
  expect_refused<LeaseRequest>(text + std::string(kMaxRequestBytes - text.size() + 1, ' '),
                               "body: 1048577 bytes");
}

TEST(BadInput, BodiesTooDeep) {
  const auto nested = [](std::size_t depth) {
    return R"({"bytes":1,"exit_bytes":1,"x":)" + std::string(depth - 1, '[') +
           std::string(depth - 1, ']') + "}";
  };
  EXPECT_TRUE(decode<LeaseRequest>(nested(kMaxDepth)).ok());
  expect_refused<LeaseRequest>(nested(kMaxDepth + 1), "body: nested 9 deep");
  expect_refused<LeaseRequest>(std::string(kMaxRequestBytes, '['), "deep");
}

TEST(BadInput, BracketsInsideTextAreNotDepth) {
  EXPECT_TRUE(decode<LeaseRequest>(R"({"bytes":1,"exit_bytes":1,"x":"[[[[[[[[[[\"[[[["})").ok());
}

TEST(BadInput, UnknownFieldsAreIgnored) {
  samples::for_each([]<typename Message>(const Message& sample) {
    json text = json::parse(encode(sample, kNow));
    text["from the future"] = {{"x", {1, 2, 3}}};
    EXPECT_TRUE(decode<Message>(text.dump(), kNow).ok()) << typeid(Message).name();
  });
}

}  // namespace
}  // namespace aqua::wire
