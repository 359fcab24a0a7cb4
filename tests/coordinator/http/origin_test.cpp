// SPDX-License-Identifier: Apache-2.0
// What a browser is led to by a page of elsewhere: DNS rebinding, other ports, forms. The browser
// itself is tried in tests/dashboard.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/base/temp_dir.hpp"
#include "tests/coordinator/in_memory.hpp"
#include "tools/access/tokens.hpp"

namespace aqua::testing {
namespace {

using coordinator::Role;
using ::testing::HasSubstr;

struct Origin : ::testing::Test {
  // The status of an order, the end of a drain of nobody: 404 when it is carried out.
  int order(const std::string& headers, const coordinator::Peer& peer = InMemory::kOperator) {
    return status_of_reply(
        http.ask("DELETE", "/v1/drains/" + std::string(32, 'a'), headers, "", peer));
  }
  int look(const std::string& headers, const std::string& target = "/v1/state") {
    return status_of_reply(http.ask("GET", target, headers));
  }
  std::string bearer(Role role) const {
    return "Authorization: Bearer " + coordinator::issue_token(tokens, role, "of a test").value() +
           "\r\n";
  }
  static coordinator::AdmissionLimits behind_a_proxy() {
    coordinator::AdmissionLimits limits;
    limits.proxy_host = "gpu7.example";
    return limits;
  }
  static constexpr int kDone = 404;

  TempDir dir;
  const std::string tokens = dir / "tokens";
  InMemory http{behind_a_proxy(), tokens};
};

TEST_F(Origin, AHostThatIsNotOursIsMisdirected) {
  for (const char* host :
       {"evil.example", "evil.example:8080", "localhost.evil.example", "aqua.evil",
        "127.0.0.1.evil.example", "10.0.0.1", "[::2]:80", "", "localhost@evil"}) {
    const std::string header = std::string("Host: ") + host + "\r\n";
    EXPECT_EQ(order(header), 421) << host;
    EXPECT_EQ(look(header), 421) << host;
    EXPECT_EQ(look(header, "/"), 421) << host;
    EXPECT_EQ(order(header + bearer(Role::operator_)), 421) << host;
  }
}

TEST_F(Origin, OurOwnNamesAreTakenWithAnyPort) {
  for (const char* host : {"localhost", "LOCALHOST:8080", "127.0.0.1:1", "127.1.2.3", "[::1]",
                           "[::1]:8080", "aqua", "gpu7.example", "GPU7.example:443"}) {
    const std::string header = std::string("Host: ") + host + "\r\n";
    EXPECT_EQ(order(header), kDone) << host;
    EXPECT_EQ(look(header), 200) << host;
  }
  EXPECT_EQ(order(""), kDone) << "no browser sends none";
  EXPECT_EQ(look("Host: aqua\r\nHost: aqua\r\n"), 400);
}

TEST_F(Origin, OverTlsTheCertificateVouchesForTheName) {
  coordinator::Peer peer = InMemory::kOperator;
  peer.by_tls = true;
  EXPECT_EQ(order("Host: any.example\r\n", peer), kDone);
  EXPECT_EQ(order("Host: any.example\r\nOrigin: https://evil.example\r\n", peer), 421);
}

TEST_F(Origin, PagesOfOtherSitesAndPortsAreRefused) {
  const std::string host = "Host: localhost:8080\r\n";
  const std::string token = bearer(Role::operator_);
  for (const char* page :
       {"http://evil.example", "http://evil.example:8080", "null", "", "http://localhost",
        "http://localhost:3000", "file://", "localhost:8080"})
    EXPECT_EQ(order(host + token + "Origin: " + page + "\r\n"), 421) << page;
  for (const char* site : {"cross-site", "same-site", "anything"})
    EXPECT_EQ(order(host + token + "Sec-Fetch-Site: " + site + "\r\n"), 421) << site;
  EXPECT_EQ(
      order(host + token + "Origin: http://localhost:8080\r\nSec-Fetch-Site: same-origin\r\n"),
      kDone);
  EXPECT_EQ(order(host + token + "Origin: https://gpu7.example\r\n"), kDone) << "by the proxy";
}

TEST_F(Origin, AnOrderOfOurOwnPageNeedsAToken) {
  const std::string page = "Host: localhost:8080\r\nOrigin: http://localhost:8080\r\n";
  EXPECT_EQ(order(page), 403);
  EXPECT_EQ(order("Host: localhost:8080\r\nSec-Fetch-Site: same-origin\r\n"), 403);
  EXPECT_EQ(look(page), 200) << "who may open the socket may look";
  EXPECT_EQ(order(page + bearer(Role::read_only)), 403);
  EXPECT_EQ(order(page + bearer(Role::operator_)), kDone);
  const std::string session = http.session(random_id<ClientTag>());
  EXPECT_EQ(status_of_reply(http.ask("GET", "/v1/clients/self", page + session)), 403);
  EXPECT_THAT(http.ask("DELETE", "/v1/drains/" + std::string(32, 'a'), page),
              HasSubstr("without a token"));
}

TEST_F(Origin, ALinkOfElsewhereOpensThePageAndNothingMore) {
  const std::string link = "Host: localhost:8080\r\nSec-Fetch-Site: cross-site\r\n";
  EXPECT_EQ(look(link, "/"), 200);
  EXPECT_EQ(look(link, "/healthz"), 200);
  for (const char* target : {"/v1/state", "/v1/info", "/metrics", "/openapi.json", "/nothing"})
    EXPECT_EQ(look(link, target), 421) << target;
}

TEST_F(Origin, EveryReplyIsNeitherGuessedNorKeptNorEmbedded) {
  for (const char* target : {"/v1/state", "/v1/info", "/v1/nothing", "/metrics", "/healthz", "/"}) {
    const std::string reply = http.ask("GET", target);
    EXPECT_THAT(reply, HasSubstr("\r\nX-Content-Type-Options: nosniff\r\n")) << target;
    EXPECT_THAT(reply, HasSubstr("\r\nCross-Origin-Resource-Policy: same-origin\r\n")) << target;
    EXPECT_THAT(reply, HasSubstr(std::string(target) == "/" ? "\r\nCache-Control: no-cache\r\n"
                                                            : "\r\nCache-Control: no-store\r\n"))
        << target;
  }
}

}  // namespace
}  // namespace aqua::testing
