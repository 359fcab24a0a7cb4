// SPDX-License-Identifier: Apache-2.0
// Who may connect to whom: certificates that are not what they have to be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "tests/coordinator/child_process.hpp"
#include "tests/tools/courier/two_servers.hpp"

namespace aqua {
namespace {

using ::testing::HasSubstr;

class CourierPeers : public ::testing::Test {
 protected:
  testing::ChildProcess courier_of_a() {
    return testing::ChildProcess({AQUA_COURIER_PROGRAM, "--config", servers_.path("a.json")});
  }
  // What the real program says of `a`'s file, until it says this.
  bool is_said(const std::string& part) {
    testing::ChildProcess courier = courier_of_a();
    return is_said(courier, part);
  }
  static bool is_said(testing::ChildProcess& courier, const std::string& part) {
    for (std::string line = courier.read_line(); !line.empty(); line = courier.read_line()) {
      if (line.find(part) != std::string::npos) return true;
    }
    return false;
  }
  [[nodiscard]] std::string said_on_stderr() const {
    std::ifstream file(servers_.path("stderr"));
    std::stringstream said;
    said << file.rdbuf();
    return said.str();
  }
  // Runs it to its end.
  int status(const std::vector<std::string>& more) {
    std::vector<std::string> arguments{AQUA_COURIER_PROGRAM};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return testing::ChildProcess(arguments, servers_.path("stderr")).wait();
  }
  test::TwoServers servers_;
};

TEST_F(CourierPeers, ATrustedOneConnectsAndOneOfAnotherNameDoesNot) {
  servers_.kill_a();
  EXPECT_TRUE(is_said("connected to b.test"));
  servers_.write_a("c.test");
  EXPECT_TRUE(is_said("hostname mismatch, it is not of c.test"));
}

TEST_F(CourierPeers, OneWhoseNameIsNotListedIsHungUpOn) {
  servers_.kill_a();
  servers_.authority().issue("c.test", servers_.path("a.pem"), servers_.path("a.key"));
  EXPECT_TRUE(is_said("its certificate is c.test"));
}

TEST_F(CourierPeers, ASecondOneOfAServerTakesItsRoutesAndTheFirstHearsIt) {
  servers_.kill_a();
  testing::ChildProcess first = courier_of_a();
  ASSERT_TRUE(is_said(first, "connected to b.test"));
  testing::ChildProcess second = courier_of_a();
  EXPECT_TRUE(is_said(first, "another courier of a.test has taken"));
}

TEST_F(CourierPeers, OneOfAnotherAuthorityIsRefused) {
  servers_.kill_a();
  const testing::Authority other(servers_.path("other.pem"));
  other.issue("a.test", servers_.path("a.pem"), servers_.path("a.key"));
  EXPECT_TRUE(is_said("refuses our certificate"));
}

TEST_F(CourierPeers, ACertificateThatHasExpiredOrIsNotValidYetIsNamed) {
  struct Case {
    int days, days_ago;
    const char* words;
  };
  for (const Case& one :
       {Case{-1, 7, "has expired"}, Case{2, -1, "is not valid yet: it is dated ahead"}}) {
    servers_.authority().issue("a.test", servers_.path("a.pem"), servers_.path("a.key"), one.days,
                               one.days_ago);
    EXPECT_EQ(status({"--config", servers_.path("a.json"), "--check"}), 1);
    EXPECT_THAT(said_on_stderr(), HasSubstr(std::string("a.pem: the certificate ") + one.words));
  }
}

TEST_F(CourierPeers, ACertificateThatIsNotValidYetIsNotTakenWhenItIsReadAgain) {
  servers_.kill_a();
  testing::ChildProcess courier = courier_of_a();
  ASSERT_TRUE(is_said(courier, "connected to b.test"));
  servers_.authority().issue("a.test", servers_.path("a.pem"), servers_.path("a.key"), 2, -1);
  courier.signal(SIGHUP);
  EXPECT_TRUE(is_said(courier, "is not valid yet"));
  servers_.kill_b();
  servers_.start_b();
  EXPECT_TRUE(is_said(courier, "connected to b.test")) << "by those in use";
}

// So that a server whose clock is behind takes them.
TEST_F(CourierPeers, CertificatesOfTheScriptAreAnHourOld) {
  const std::string made = servers_.path("made");
  ASSERT_EQ(testing::ChildProcess({AQUA_COURIER_CERTIFICATES, made, "a.test", "b.test"}).wait(), 0);
  for (const char* name : {"authority", "a.test", "b.test"}) {
    const std::string path = made + "/" + name + ".pem";
    const std::unique_ptr<std::FILE, decltype(&std::fclose)> file(std::fopen(path.c_str(), "r"),
                                                                  &std::fclose);
    ASSERT_NE(file, nullptr) << path;
    const testing::TestCertificate one(::PEM_read_X509(file.get(), nullptr, nullptr, nullptr),
                                       &::X509_free);
    ASSERT_NE(one, nullptr) << path;
    std::time_t behind = std::time(nullptr) - 55 * 60;
    EXPECT_LT(::X509_cmp_time(::X509_get0_notBefore(one.get()), &behind), 0) << path;
  }
  const auto use = [&](const std::string& server) {
    for (const std::string end : {".pem", ".key"}) {
      std::filesystem::rename(made + "/" + server + ".test" + end, servers_.path(server + end));
    }
  };
  std::filesystem::rename(made + "/authority.pem", servers_.path("authority.pem"));
  servers_.kill_a();
  servers_.kill_b();
  use("a");
  use("b");
  servers_.start_b();
  EXPECT_TRUE(is_said("connected to b.test"));
}

// Whoever connects has read a certificate that has expired since, or has a clock of its own.
TEST_F(CourierPeers, OneWhoseCertificateHasExpiredIsRefused) {
  servers_.authority().issue("a.test", servers_.path("old.pem"), servers_.path("old.key"), -1);
  testing::ChildProcess old({"/bin/sh", "-c",
                             "exec openssl s_client -quiet -connect 127.0.0.1:" + servers_.port() +
                                 " -cert " + servers_.path("old.pem") + " -key " +
                                 servers_.path("old.key") + " 2>&1 </dev/null"});
  EXPECT_TRUE(is_said(old, "certificate expired"));
}

TEST_F(CourierPeers, ACertificateIsRenewedWithoutARestart) {
  servers_.kill_a();
  servers_.authority().issue("c.test", servers_.path("a.pem"), servers_.path("a.key"));
  testing::ChildProcess courier = courier_of_a();
  ASSERT_TRUE(is_said(courier, "its certificate is c.test"));
  servers_.authority().issue("a.test", servers_.path("a.pem"), servers_.path("a.key"));
  courier.signal(SIGHUP);
  EXPECT_TRUE(is_said(courier, "certificates were read again"));
  EXPECT_TRUE(is_said(courier, "connected to b.test"));
}

TEST_F(CourierPeers, ACertificateThatDoesNotFitItsKeyIsNotTaken) {
  servers_.kill_a();
  testing::ChildProcess courier = courier_of_a();
  ASSERT_TRUE(is_said(courier, "connected to b.test"));
  servers_.authority().issue("a.test", servers_.path("next.pem"), servers_.path("a.key"));
  courier.signal(SIGHUP);
  EXPECT_TRUE(is_said(courier, "those in use stay"));
  servers_.kill_b();
  servers_.start_b();
  EXPECT_TRUE(is_said(courier, "connected to b.test")) << "by those in use";
}

TEST_F(CourierPeers, TheProgramSaysWhatItWants) {
  EXPECT_EQ(status({"--config", servers_.path("b.json"), "--check"}), 0);
  EXPECT_EQ(status({"--help"}), 0);
  EXPECT_EQ(status({}), 2);
  EXPECT_EQ(status({"--config", "/nowhere.json"}), 1);
  EXPECT_EQ(status({"--nothing"}), 2);
}

}  // namespace
}  // namespace aqua
