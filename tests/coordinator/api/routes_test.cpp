// SPDX-License-Identifier: Apache-2.0
// Every route, found in the router's own table: who may call it, and that it is documented.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "coordinator/api/openapi.hpp"
#include "tests/base/temp_dir.hpp"
#include "tests/coordinator/in_memory.hpp"

namespace aqua::testing {
namespace {

using coordinator::Access;
using coordinator::Role;
using ::testing::HasSubstr;
using ::testing::Not;

std::string target_of(const coordinator::Route& route) {
  std::string target = route.path;
  for (std::size_t open = 0; (open = target.find('{')) != std::string::npos;)
    target.replace(open, target.find('}') - open + 1, std::string(32, '1'));
  return target;
}

TEST(Routes, EveryOneIsInTheDocumentAndNoOther) {
  InMemory http;
  std::set<std::string> served;
  for (const auto& route : http.router.routes()) served.insert(route.method + " " + route.path);
  std::set<std::string> documented;
  const auto document = nlohmann::json::parse(coordinator::openapi_document());
  for (const auto& [path, operations] : document["paths"].items()) {
    for (const auto& [method, operation] : operations.items()) {
      std::string upper = method;
      for (char& c : upper) c = static_cast<char>(c - 'a' + 'A');
      documented.insert(upper + " " + path);
    }
  }
  EXPECT_EQ(served, documented);
}

TEST(Routes, WithoutASessionNoneThatWantsOneAnswers) {
  InMemory http;
  std::size_t checked = 0;
  for (const auto& route : http.router.routes()) {
    if (route.access != Access::session) continue;
    for (const std::string& header :
         {std::string(), "Aqua-Session: " + std::string(32, 'f') + "\r\n",
          std::string("Aqua-Session: x\r\n")}) {
      EXPECT_EQ(status_of_reply(http.ask(route.method, target_of(route), header, "{}")), 401)
          << route.method << " " << route.path;
      ++checked;
    }
  }
  EXPECT_GT(checked, 30U);
}

TEST(Routes, OverTcpNothingButHealthAndTheEmptyPageAnswersWithoutAToken) {
  InMemory http;
  const std::string session = http.session(random_id<ClientTag>());
  for (const auto& route : http.router.routes()) {
    const std::string body = route.method == "GET" ? "" : "{}";
    const int status = status_of_reply(
        http.ask(route.method, target_of(route), session, body, InMemory::kOverTcp));
    EXPECT_EQ(status, route.access == Access::anybody ? 200 : 401) << route.path;
  }
  // Not even which paths there are.
  EXPECT_EQ(status_of_reply(http.ask("GET", "/nowhere", "", "", InMemory::kOverTcp)), 401);
}

TEST(Routes, EachRoleReachesWhatIsItsOwnAndNoMore) {
  InMemory http;
  const std::string session = http.session(random_id<ClientTag>());
  for (const Role role : {Role::read_only, Role::engine, Role::operator_}) {
    const coordinator::Peer peer{true, InMemory::kOperator.uid, role};
    for (const auto& route : http.router.routes()) {
      const int status =
          status_of_reply(http.ask(route.method, target_of(route), session, "{}", peer));
      const bool refused = (route.access == Access::session && role < Role::engine) ||
                           (route.access == Access::operators && role < Role::operator_);
      // What is let through is answered by its handler: never 401, or 403 for want of a role.
      EXPECT_EQ(status == 401 || status == 403, refused)
          << to_string(role) << " " << route.method << " " << route.path << ": " << status;
    }
  }
}

TEST(Routes, SecretInAnotherUsersHandIsWorthNothing) {
  InMemory http;
  const std::string session = http.session(random_id<ClientTag>());
  const coordinator::Peer thief{true, InMemory::kOperator.uid + 1, Role::engine};
  EXPECT_EQ(status_of_reply(http.ask("GET", "/v1/clients/self", session, "", thief)), 401);
  EXPECT_EQ(status_of_reply(http.ask("GET", "/v1/clients/self", session)), 200);
}

TEST(Routes, TricksWithPathsLeadNowhere) {
  InMemory http;
  for (const char* path :
       {"/v1/../v1/state", "/v1//state", "//v1/state", "/v1/state/", "/v1%2fstate", "/v1/%73tate",
        "/V1/state", "/v1/state;x=1", "/v1/state%00", "/./v1/state", "/v1/pairs/a/b", "/v1/pairs/",
        "/v1/reclaims/1/2", "/v1/slabs/1/events", "/v1/slabs//1/events", "/v1/slabs/1/2/3/events",
        "/v1/slabs/1/2/events/", "/..", "/healthz/../v1/state"}) {
    EXPECT_EQ(status_of_reply(http.ask("GET", path)), 404) << path;
  }
  for (const char* target : {"http://x/v1/state", "*", "v1/state", "/v1/state#x", "/v1/st\tate"})
    EXPECT_EQ(status_of_reply(http.ask("GET", target)), 400) << target;
  EXPECT_EQ(status_of_reply(http.ask("DELETE", "/v1/pairs/..%2f..%2fetc")), 400);
  const std::string reply = http.ask("PATCH", "/v1/pairs", "", "{}");
  EXPECT_EQ(status_of_reply(reply), 405);
  EXPECT_THAT(reply, HasSubstr("Allow: GET, PUT\r\n"));
}

TEST(Routes, ManyPathsHaveOneNameEach) {
  InMemory http;
  EXPECT_EQ(http.router.label_of("/"), "/");
  EXPECT_EQ(http.router.label_of("/v1/slabs/ab/7/events"), "/v1/slabs/{producer}/{index}/events");
  EXPECT_EQ(http.router.label_of("/v1/drains/ab"), "/v1/drains/{client}");
  for (const char* path : {"", "//", "/v1", "/v1/drains/", "/v1/drains/a/b", "/wp-admin", "*"})
    EXPECT_EQ(http.router.label_of(path), "other") << path;
  const auto match = http.router.match("GET", "/v1/slabs/ab/7/events");
  EXPECT_EQ(match.parameters, (std::vector<std::string>{"ab", "7"}));
}

TEST(Routes, EachRequestIsCountedUnderItsRouteAndEachRefusalUnderItsCode) {
  InMemory http;
  http.ask("GET", "/healthz");
  http.ask("GET", "/v1/drains/" + std::string(32, 'a'));  // 405, of a route all the same
  http.ask("GET", "/some/where");
  http.answer("nonsense\r\n\r\n");
  const std::string text = http.metrics.render({});
  for (const char* line :
       {"aqua_http_requests_total{method=\"GET\",route=\"/healthz\",status=\"200\"} 1\n",
        "aqua_http_requests_total{method=\"GET\",route=\"/v1/drains/{client}\",status=\"405\"} 1\n",
        "aqua_http_requests_total{method=\"GET\",route=\"other\",status=\"404\"} 1\n",
        "aqua_http_requests_total{method=\"other\",route=\"other\",status=\"400\"} 1\n",
        "aqua_http_requests_in_flight{route=\"/healthz\"} 0\n",
        "aqua_errors_total{code=\"not_found\"} 1\n",
        "aqua_errors_total{code=\"invalid_argument\"} 2\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(Routes, HeadIsGetWithoutABody) {
  InMemory http;
  const std::string reply = http.ask("HEAD", "/healthz");
  EXPECT_EQ(status_of_reply(reply), 200);
  EXPECT_EQ(body_of_reply(reply), "");
  // The length is that of the body which GET would have.
  const std::string whole = body_of_reply(http.ask("GET", "/healthz"));
  EXPECT_THAT(reply, HasSubstr("Content-Length: " + std::to_string(whole.size()) + "\r\n"));
  EXPECT_EQ(body_of_reply(http.ask("HEAD", "/nowhere")), "");
}

TEST(Routes, WhatAHandlerThrowsIsNotTold) {
  InMemory http;
  http.router.add(
      {"GET", "/throws", Access::anybody, [](const coordinator::Call&) -> coordinator::Reply {
         throw std::runtime_error("the innermost secret");
       }});
  const std::string reply = http.ask("GET", "/throws");
  EXPECT_EQ(status_of_reply(reply), 500);
  EXPECT_THAT(reply, Not(HasSubstr("innermost")));
  EXPECT_THAT(reply, Not(HasSubstr("EXCEPTION_WHAT")));
  EXPECT_EQ(wire::decode<wire::Problem>(body_of_reply(reply))->error.code, Code::internal);
}

TEST(Routes, ErrorsAreProblemDetails) {
  InMemory http;
  const std::string reply = http.ask("GET", "/nowhere");
  EXPECT_THAT(reply, HasSubstr("Content-Type: application/problem+json\r\n"));
  const auto problem = nlohmann::json::parse(body_of_reply(reply));
  EXPECT_EQ(problem["type"], "urn:aqua:problem:not_found");
  EXPECT_EQ(problem["status"], 404);
  EXPECT_EQ(problem["code"], "not_found");
  EXPECT_EQ(problem["next"], wire::next_step(Code::not_found));
  EXPECT_EQ(problem["epoch"], to_string(http.service.epoch()));
}

TEST(Routes, LimitsAreToldWithTheirOwnStatus) {
  coordinator::AdmissionLimits limits;
  limits.body_bytes = 1024;
  limits.head.headers = 8;
  limits.head.bytes = 2048;
  limits.quota.rate = 3;
  InMemory http(limits);
  const std::string session = http.session(random_id<ClientTag>());
  EXPECT_EQ(status_of_reply(http.ask("POST", "/v1/leases", session, std::string(1025, ' '))), 413);
  std::string many;
  for (int i = 0; i < 9; ++i) many += "X-" + std::to_string(i) + ": y\r\n";
  EXPECT_EQ(status_of_reply(http.ask("GET", "/healthz", many)), 431);
  EXPECT_EQ(status_of_reply(http.ask("GET", "/healthz", "X: " + std::string(2048, 'y') + "\r\n")),
            431);
  std::string last;
  for (int i = 0; i < 4; ++i) last = http.ask("GET", "/v1/info");
  EXPECT_EQ(status_of_reply(last), 429);
  EXPECT_THAT(last, HasSubstr("Retry-After: 1\r\n"));
  EXPECT_EQ(wire::decode<wire::Problem>(body_of_reply(last))->error.code, Code::resource_exhausted);
  // Another caller is another's business.
  EXPECT_EQ(status_of_reply(http.ask("GET", "/v1/clients/self", session)), 200);
}

TEST(Routes, TokensOpenWhatTheirRoleSays) {
  TempDir dir;
  const std::string path = dir / "tokens";
  const std::string reader = coordinator::issue_token(path, Role::read_only, "").value();
  const std::string engine = coordinator::issue_token(path, Role::engine, "").value();
  InMemory http({}, path);
  const auto status = [&](const std::string& token, const char* target) {
    return status_of_reply(
        http.ask("GET", target, "Authorization: Bearer " + token + "\r\n", "", InMemory::kOverTcp));
  };
  EXPECT_EQ(status(reader, "/v1/state"), 200);
  EXPECT_EQ(status(reader, "/v1/clients/self"), 403);
  EXPECT_EQ(status(engine, "/v1/clients/self"), 401);  // and a session
  std::string forged = engine;
  forged.back() = forged.back() == '0' ? '1' : '0';
  EXPECT_EQ(status(forged, "/v1/state"), 401);
  EXPECT_EQ(status("", "/v1/state"), 401);
  // Revoked means over at once.
  const auto tokens = coordinator::load_tokens(path).value();
  ASSERT_TRUE(coordinator::revoke_token(path, tokens[0].id()).ok());
  EXPECT_EQ(status(reader, "/v1/state"), 401);
  EXPECT_EQ(status(engine, "/v1/state"), 200);
}

}  // namespace
}  // namespace aqua::testing
