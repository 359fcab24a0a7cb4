// SPDX-License-Identifier: Apache-2.0
#include "parcel/pool_wire.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/concat.hpp"
#include "base/keeper/limits.hpp"
#include "parcel/pool_book.hpp"

namespace aqua::pool_wire {
namespace {

DeviceUuid gpu() {
  DeviceUuid id;
  id.bytes[3] = 7;
  return id;
}

std::vector<PoolRequest> one_of_each() {
  return {JoinPool{"pool", "decode", gpu(), "layers=2", 64, 16, 1 << 21, 9,
                   ParcelBook::Courier{"prefill", "b.test"}},
          AddSlabs{{1 << 21, 2 << 21}},
          FetchSlabs{3},
          Grant{kMostNamedBlocks, 9},
          GiveBack{{5, 6, 7, 1}},
          Share{{0}},
          Offer{"decode",
                {.number = 1,
                 .id = "r",
                 .turn = 2,
                 .blocks = {9, 8, 3, 4, 5},
                 .tokens = 77,
                 .note = std::string("\0\xff\n\"", 4)}},
          Open{"decode", {"r", 3}, true, 2},
          Close{{.number = 9, .id = "r", .turn = 3, .blocks = {1}, .tokens = 2, .note = "n"}},
          Recall{9},
          Confirm{10},
          Accept{4},
          Finish{12, ParcelEvent::declined},
          Cancel{"pool", "r", 7},
          Leave{},
          ListPools{32},
          RemovePool{"pool"},
          Release{"pool"},
          MoveQuota{"pool", "prefill", "decode", 3},
          Admit{"prefill", 65536},
          Renew{9, 12},
          TellCutOff{"decode", {"r", 4}},
          ListParcels{"pool", 17}};
}

TEST(PoolWire, AParcelThatCannotBeReadTakesNoOtherWithIt) {
  PoolReply reply;
  reply.parcels = {{.number = 1, .id = "a", .turn = 1}, {.number = 2, .id = "b", .turn = 1}};
  const std::string good = encode(Result<PoolReply>(reply));
  std::string bad = good;
  const std::string turn = R"("turn":1)";
  bad.replace(bad.find(turn), turn.size(), R"("turn":1000000000000001)");
  const auto heard = decode_pool_reply(bad);
  ASSERT_TRUE(heard.ok()) << heard.error().message;
  EXPECT_EQ(heard->parcels, (std::vector<Parcel>{reply.parcels[1]}));
  EXPECT_NE(heard->unread.find("turn"), std::string::npos) << heard->unread;
  EXPECT_EQ(decode_pool_reply(good)->unread, "");
}

TEST(PoolWire, NewsThatCannotBeReadTakeNoOtherWithThem) {
  PoolReply reply;
  reply.parcels = {{.number = 1, .id = "a", .turn = 1}};
  reply.told = {{1, ParcelEvent::opened}, {2, ParcelEvent::cut_off, {"r", 9}}};
  std::string later = encode(Result<PoolReply>(reply));
  later.replace(later.find("opened"), 6, "a word of later days");
  const auto heard = decode_pool_reply(later);
  ASSERT_TRUE(heard.ok()) << heard.error().message;
  EXPECT_EQ(heard->parcels, reply.parcels);
  EXPECT_EQ(heard->told, (std::vector<ParcelNews>{reply.told[1]}));
  EXPECT_NE(heard->unread, "");
}

TEST(PoolWire, EveryRequestArrivesAsItWasSent) {
  const auto requests = one_of_each();
  ASSERT_EQ(requests.size(), std::variant_size_v<PoolRequest>);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::string sent = encode(requests[i]);
    const auto heard = decode_pool_request(sent);
    ASSERT_TRUE(heard.ok()) << sent << ": " << heard.error().message;
    ASSERT_TRUE(heard->has_value());
    EXPECT_EQ((*heard)->index(), i);
    EXPECT_EQ(encode(**heard), sent);
  }
  const auto& sent = std::get<Offer>(requests[6]);
  EXPECT_EQ(std::get<Offer>(**decode_pool_request(encode(sent))).parcel, sent.parcel);
}

TEST(PoolWire, AnOlderMemberThatAsksForBlocksLacksOne) {
  const auto heard = decode_pool_request(R"({"op":"pool-grant","most":3})");
  ASSERT_TRUE(heard.ok()) << heard.error().message;
  EXPECT_EQ(std::get<Grant>(**heard).least, 1U);
}

TEST(PoolWire, RequestsOfAnotherKindAreLeftToOthers) {
  EXPECT_FALSE(decode_pool_request(R"({"op":"models","first":0})")->has_value());
  EXPECT_FALSE(decode_pool_request("rubbish")->has_value());
}

TEST(PoolWire, RepliesAndRefusalsArrive) {
  PoolReply reply{.make = true, .later = true, .slabs = 3, .bytes = {1 << 21}, .blocks = {1, 2, 9}};
  reply.number = 4;
  reply.waiting = 5;
  reply.parcels = {{.number = 8, .id = "r", .turn = 1, .blocks = {3}, .tokens = 1, .note = "n"}};
  reply.pools = {{.pool = "p", .device = "d", .shape = "s", .members = 1, .blocks = 2, .free = 2}};
  reply.parcels[0].tail_in_doubt = true;
  reply.parcels[0].segment = {.number = 5, .generation = 2, .bytes = 1 << 20, .digest = {1, 0xff}};
  reply.parcels[0].from = "prefill";
  reply.open = true;
  reply.told = {{3, ParcelEvent::opened},           {4, ParcelEvent::confirmed},
                {5, ParcelEvent::superseded},       {6, ParcelEvent::cancelled},
                {7, ParcelEvent::taken_superseded}, {8, ParcelEvent::cut_off, {"r", 9}}};
  reply.pools[0].quarantined = 4;
  reply.pools[0].ended = 5;
  reply.pools[0].quotas = {{"prefill", 6, 7}, {"decode", 8, 0}};
  reply.more = true;
  EXPECT_EQ(decode_pool_reply(encode(Result<PoolReply>(reply))).value(), reply);
  const auto refused =
      decode_pool_reply(encode(Result<PoolReply>(Error{Code::aborted, "a higher turn"})));
  EXPECT_EQ(refused.error().code, Code::aborted);
  EXPECT_EQ(refused.error().message, "a higher turn");
}

TEST(PoolWire, WhatCannotBeIsRefused) {
  const auto refused = [](const std::string& packet) {
    const auto heard = decode_pool_request(packet);
    return !heard.ok() && heard.error().code == Code::invalid_argument;
  };
  EXPECT_TRUE(refused(R"({"op":"pool-dance"})"));
  EXPECT_TRUE(refused(R"({"op":"pool-leave","now":true})")) << "an unknown key";
  EXPECT_TRUE(refused(R"({"op":"pool-grant","most":4097})"));
  EXPECT_TRUE(refused(R"({"op":"pool-remove","pool":""})"));
  for (const char* const blocks : {"[1]", "[-1,1]", "[0.5,1]", "[1048576,1]", "[1048575,2]",
                                   "[0,1048576,0,1]", "[0,18446744073709551615]", "{}", "\"0\""}) {
    EXPECT_TRUE(refused(std::string(R"({"op":"pool-share","blocks":)") + blocks + "}")) << blocks;
  }
  const auto offered = [&](const std::string& note) {
    return R"({"op":"pool-offer","role":"d","number":0,"id":"r","turn":1,"tokens":0,"blocks":[],"note":")" +
           note + "\"}";
  };
  EXPECT_FALSE(refused(offered("00ff")));
  for (const char* const note : {"0", "0g", "FF", "00 1"}) EXPECT_TRUE(refused(offered(note)));
  EXPECT_TRUE(refused(R"({"op":"pool-open","role":"d","id":"r"})")) << "no turn";
  for (const char* const slabs : {"-1", "0.5", "1e9", "\"1\""}) {
    EXPECT_TRUE(refused(
        std::string(R"({"op":"pool-quota","pool":"p","from":"a","to":"b","slabs":)") + slabs + "}"))
        << slabs;
  }
  EXPECT_TRUE(refused(R"({"op":"pool-quota","pool":"p","from":"a","slabs":1})")) << "to nobody";
  const std::string row =
      encode(Result<PoolReply>(PoolReply{.pools = {{.quotas = {{"q", 1, 2}}}}}));
  ASSERT_TRUE(decode_pool_reply(row).ok()) << row;
  for (const char* const quotas : {R"(["q",1])", R"([1,1,2])", R"(["q",-1,2])", R"(["q",1,0.5])",
                                   R"(["q",1,4294967296])", "{}"}) {
    std::string other = row;
    other.replace(other.find(R"(["q",1,2])"), 9, quotas);
    EXPECT_EQ(decode_pool_reply(other).error().code, Code::invalid_argument) << quotas;
  }
  EXPECT_TRUE(refused(R"({"op":"pool-admit","from":"d","parcels":-1})"));
  const auto joined = [&](const char* of) {
    return concat(R"({"op":"pool-join","pool":"p","role":"d","device":")", to_string(gpu()),
                  R"(","shape":"s","block_tokens":1,"quota":0,)", of, "}");
  };
  EXPECT_FALSE(refused(joined(R"("blocks":0,"bytes":0)"))) << "of parcels without blocks";
  EXPECT_TRUE(refused(joined(R"("blocks":0,"bytes":2097152)")));
  EXPECT_TRUE(refused(joined(R"("blocks":1,"bytes":0)")));
  const auto in_segment = [&](const char* name) {
    return concat(R"({"op":"pool-close","number":1,"id":"r","turn":1,"tokens":0,"blocks":[],)",
                  R"("note":"","segment":)", name, "}");
  };
  constexpr const char* kDigest = R"("digest":"00000000000000000000000000000000"})";
  EXPECT_FALSE(
      refused(in_segment(concat(R"({"number":1,"generation":1,"bytes":1,)", kDigest).c_str())));
  EXPECT_TRUE(
      refused(in_segment(concat(R"({"number":0,"generation":1,"bytes":1,)", kDigest).c_str())));
  EXPECT_TRUE(refused(in_segment(R"({"number":1})")));
  EXPECT_TRUE(refused(in_segment("1")));
  EXPECT_EQ(decode_pool_reply("[]").error().code, Code::invalid_argument);
}

TEST(PoolWire, AParcelThatFitsNoPacketIsToldSo) {
  Parcel parcel{.id = "long", .turn = 1};
  for (std::uint32_t i = 0; i < 200'000; ++i) parcel.blocks.push_back(i);
  EXPECT_TRUE(check_bytes(parcel).ok()) << "one run";
  for (std::uint32_t& block : parcel.blocks) block *= 2;
  EXPECT_EQ(check_bytes(parcel).error().code, Code::invalid_argument);
  // The most that may be, in an answer with all that is around it.
  parcel.segment = {~std::uint64_t{0} >> 12, ~std::uint64_t{0} >> 12, kMostBytes, {}};
  parcel.from = std::string(128, 'r');
  parcel.blocks.resize(8'000);
  while (!check_bytes(parcel).ok()) parcel.blocks.resize(parcel.blocks.size() - 16);
  EXPECT_LE(encode(Result<PoolReply>(PoolReply{.parcels = {parcel}})).size(), kMaxPacket);
  EXPECT_LE(encode(PoolRequest(Offer{std::string(128, 'r'), parcel})).size(), kMaxPacket);
}

TEST(PoolWire, AFullListOfPoolsFitsAPacket) {
  const std::string name(keeper_wire::kLongestName, '"');  // two bytes each
  PoolStatus row{.pool = name, .device = name, .shape = std::string(kLongestShape, '"')};
  for (std::size_t i = 0; i < PoolBook::kMostQuotas; ++i) {
    row.quotas.push_back({.role = name, .blocks = kMostPoolBlocks, .had = kMostPoolBlocks});
  }
  const PoolReply reply{.pools = std::vector<PoolStatus>(kMostPoolRows, row)};
  EXPECT_LE(encode(Result<PoolReply>(reply)).size(), kMaxPacket);
}

TEST(PoolWire, AFullListOfParcelsFitsAPacket) {
  const std::string name(keeper_wire::kLongestName, '"');  // two bytes each
  constexpr std::uint64_t kMost = 1'000'000'000'000'000;
  const ParcelStatus row{.number = kMost,
                         .id = std::string(ParcelBook::kLongestId, '"'),
                         .turn = kMost,
                         .state = ParcelState::confirmed,
                         .from = name,
                         .to = name,
                         .giver_pid = 4'194'304,
                         .taker_pid = 4'194'304,
                         .tokens = UINT32_MAX,
                         .age = std::chrono::milliseconds(kMost)};
  const PoolReply reply{.listed = std::vector<ParcelStatus>(kMostParcelRows, row)};
  EXPECT_LE(encode(Result<PoolReply>(reply)).size(), kMaxPacket);
}

// The worst lists that are ever named: no two blocks follow each other.
TEST(PoolWire, AFullListOfBlocksFitsAPacket) {
  Blocks blocks;
  for (std::uint32_t i = 0; i < kMostNamedBlocks; ++i)
    blocks.push_back(kMostPoolBlocks - 1 - 2 * i);
  EXPECT_LE(encode(PoolRequest(GiveBack{blocks})).size(), kMaxPacket);
  EXPECT_LE(encode(Result<PoolReply>(PoolReply{.blocks = blocks})).size(), kMaxPacket);
}

}  // namespace
}  // namespace aqua::pool_wire
