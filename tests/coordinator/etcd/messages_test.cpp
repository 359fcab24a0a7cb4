// SPDX-License-Identifier: Apache-2.0
// What etcd 3.4.23 answers, as it was recorded, and what it never should.
#include "coordinator/etcd/messages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "coordinator/etcd/base64.hpp"

namespace aqua::coordinator::etcd {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST(EtcdBase64, ComesBackAsItWas) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(from_base64(to_base64(bytes)), bytes) << i;
    bytes += static_cast<char>(i * 37);
  }
  EXPECT_EQ(to_base64("/a"), "L2E=");
  EXPECT_EQ(to_base64("any carnal pleas"), "YW55IGNhcm5hbCBwbGVhcw==");
}

TEST(EtcdBase64, NothingElseIsTaken) {
  for (const char* wrong : {"L", "L2E", "L2E=L2E=", "L2=E", "====", "L===", "L2E\n", " L2E", "L2-E",
                            "L2EA\n===", "L2E=="})
    EXPECT_EQ(from_base64(wrong), std::nullopt) << wrong;
}

TEST(EtcdMessages, AskForAllKeysThatBeginSo) {
  const auto end_of = [](std::string_view prefix) {
    return from_base64(json::parse(range_request(prefix)).at("range_end").get<std::string>());
  };
  EXPECT_EQ(end_of("/aqua/"), "/aqua0");
  EXPECT_EQ(end_of("a\xff"), "b");
  EXPECT_EQ(end_of("\xff\xff"), std::string(1, '\0'));  // to the end
}

TEST(EtcdMessages, RowsAreRead) {
  const auto rows = parse_rows(
      R"({"header":{"cluster_id":"14841639068965178418","revision":"12"},"kvs":[
        {"key":"L2I=","mod_revision":"9","version":"1","value":"dg==","lease":"4390624941357044743"},
        {"key":"L2E=","mod_revision":"2"}],"count":"2"})");
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  EXPECT_EQ(rows->cluster, "14841639068965178418");
  ASSERT_EQ(rows->rows.size(), 2U);
  EXPECT_EQ(rows->rows[0].key, "/a");
  EXPECT_EQ(rows->rows[0].value, "");
  EXPECT_EQ(rows->rows[1].value, "v");
  EXPECT_EQ(rows->rows[1].modified, 9);
}

TEST(EtcdMessages, WhatIsLeftOutIsZeroOrFalse) {
  EXPECT_TRUE(parse_rows(R"({"header":{"cluster_id":"1"}})")->rows.empty());
  EXPECT_FALSE(parse_outcome(R"({"header":{"revision":"3"}})")->done);
  EXPECT_TRUE(parse_outcome(R"({"header":{"revision":"3"},"succeeded":true})")->done);
  EXPECT_EQ(*parse_kept(R"({"result":{"header":{"revision":"1"},"ID":"77"}})"), 0);
  EXPECT_EQ(*parse_kept(R"({"result":{"ID":"77","TTL":"10"}})"), 10);
}

TEST(EtcdMessages, AWatchIsCancelledWhereALineSaysSo) {
  const std::string head = R"({"result":{"header":{"cluster_id":"7","revision":"1"})";
  EXPECT_TRUE(is_cancelled_watch(head + R"(,"watch_id":"-1","created":true,"canceled":true,)" +
                                 R"("cancel_reason":"etcdserver: user name is empty"}})"));
  for (const std::string& other :
       {head + R"(,"created":true}})", head + R"(,"canceled":false}})",
        head + R"(,"events":[{"kv":{"key":"L2E=","value":"ImNhbmNlbGVkIjp0cnVl"}}]}})",
        std::string(R"({"error":{"code":14}})"), std::string("[7]"), std::string()})
    EXPECT_FALSE(is_cancelled_watch(other)) << other;
}

TEST(EtcdMessages, AnAnswerThatIsNoneIsNamed) {
  for (const char* wrong :
       {"", "[]", "{}", R"({"header":7})", R"({"header":{}})", R"({"header":{"cluster_id":7}})",
        R"({"header":{"cluster_id":"1"},"kvs":7})", R"({"header":{"cluster_id":"1"},"kvs":[7]})",
        R"({"header":{"cluster_id":"1"},"kvs":[{"key":"!"}]})",
        R"({"header":{"cluster_id":"1"},"kvs":[{"key":"L2E=","mod_revision":"-"}]})"}) {
    const auto rows = parse_rows(wrong);
    ASSERT_FALSE(rows.ok()) << wrong;
    EXPECT_EQ(rows.error().code, Code::data_loss) << wrong;
  }
  EXPECT_FALSE(parse_outcome(R"({"header":{"revision":"x"}})").ok());
  EXPECT_FALSE(parse_outcome(R"({"header":{"revision":"1"},"succeeded":"yes"})").ok());
  EXPECT_FALSE(parse_grant(R"({"header":{}})").ok());
  EXPECT_FALSE(parse_kept(R"({"error":{}})").ok());
  EXPECT_FALSE(parse_token(R"({"token":"a\nb"})").ok());
}

TEST(EtcdMessages, RefusalsSayWhatToDoNext) {
  const auto code = [](int status, const char* body) { return parse_refusal(status, body).code; };
  EXPECT_EQ(code(503, R"({"error":"etcdserver: no leader","code":14})"), Code::unavailable);
  EXPECT_EQ(code(404, R"({"error":"etcdserver: requested lease not found","code":5})"),
            Code::not_found);
  EXPECT_EQ(code(429, R"({"error":"etcdserver: mvcc: database space exceeded","code":8})"),
            Code::resource_exhausted);
  EXPECT_EQ(code(401, R"({"error":"etcdserver: invalid auth token","code":16})"),
            Code::permission_denied);
  EXPECT_EQ(code(400, R"({"error":"etcdserver: user name is empty","code":3})"),
            Code::permission_denied);
  EXPECT_EQ(code(400, R"({"error":"etcdserver: key is not provided","code":3})"), Code::internal);
  EXPECT_EQ(code(503, R"({"error":{"grpc_code":14,"message":"no leader"}})"), Code::unavailable);
  EXPECT_EQ(code(504, "<html>"), Code::unavailable);
  EXPECT_EQ(code(404, "Not Found\n"), Code::internal);
  EXPECT_THAT(parse_refusal(503, R"({"error":"etcdserver: no leader","code":14})").message,
              HasSubstr("no leader"));
}

}  // namespace
}  // namespace aqua::coordinator::etcd
