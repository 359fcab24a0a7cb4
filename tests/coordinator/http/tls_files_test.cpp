// SPDX-License-Identifier: Apache-2.0
// The files that TLS is made of: what is refused, said, and read again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "tests/coordinator/ended_daemon.hpp"
#include "tests/coordinator/http/tls_daemon.hpp"
#include "tests/southbound/peers.hpp"

namespace aqua::testing {
namespace {

using ::testing::HasSubstr;

struct TlsFilesOf : Certificate, ::testing::Test {
  // What a daemon with these files says, which does not start.
  [[nodiscard]] std::string complaint() const {
    std::vector<std::string> all = arguments();
    all.insert(all.end(), {"--data", dir / "data"});
    const Ended ended = run_daemon(all);
    EXPECT_EQ(ended.status, 1);
    EXPECT_EQ(ended.output, "");
    all.emplace_back("--check-config");
    const Ended checked = run_daemon(all);
    EXPECT_EQ(checked.status, 2);
    EXPECT_EQ(checked.errors, ended.errors) << "the check says what a start says";
    return ended.errors;
  }
  const std::string& certificate = path;
};

TEST_F(TlsFilesOf, AKeyThatOthersMayReadIsRefused) {
  // Root's key is for a group to read, where root says so: this one is another's.
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(key.c_str(), 1, 1), 0);
  }
  for (const mode_t mode : {0640U, 0604U}) {
    ASSERT_EQ(::chmod(key.c_str(), mode), 0);
    EXPECT_THAT(complaint(), AllOf(HasSubstr(key), HasSubstr("chmod 600")));
  }
}

TEST_F(TlsFilesOf, RootsKeyIsForItsGroupAsWellWhichMayNotWriteIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, whose key it is";
  for (const mode_t mode : {0660U, 0644U}) {
    ASSERT_EQ(::chmod(key.c_str(), mode), 0);
    EXPECT_THAT(complaint(), HasSubstr("chmod 600"));
  }
  ASSERT_EQ(::chmod(key.c_str(), 0440), 0);
  const TlsDaemon https(arguments());
  EXPECT_TRUE(TlsClient(https.connect(), certificate).shake_hands());
}

TEST_F(TlsFilesOf, WhatIsMissingOrWrongIsNamed) {
  make_certificate(dir / "another", dir / "its-key");
  std::filesystem::rename(dir / "its-key", key);
  EXPECT_THAT(complaint(), HasSubstr(key + ": not the key of " + certificate));
  make_certificate(certificate, key, 1, "secret");
  EXPECT_THAT(complaint(), HasSubstr(key + ": not a private key in PEM, or locked"));
  std::filesystem::remove(key);
  EXPECT_THAT(complaint(), HasSubstr(key + ": No such file"));
  std::ofstream(certificate) << "no certificate\n";
  EXPECT_THAT(complaint(), HasSubstr(certificate + ": not a certificate in PEM"));
  ASSERT_TRUE(std::filesystem::remove(certificate));
  ASSERT_EQ(::mkfifo(certificate.c_str(), 0600), 0);
  EXPECT_THAT(complaint(), HasSubstr(certificate + ": not a regular file"));
}

TEST_F(TlsFilesOf, AnExpiredCertificateIsTalkedAboutAndClientsRefuseIt) {
  make_certificate(certificate, key, -1);
  const TlsDaemon https(arguments());
  EXPECT_THAT(https.unix_socket.daemon.log(), HasSubstr("has expired"));
  TlsClient tls(https.connect(), certificate);
  EXPECT_FALSE(tls.shake_hands());
  EXPECT_EQ(tls.verdict(), X509_V_ERR_CERT_HAS_EXPIRED);
}

TEST_F(TlsFilesOf, RenewedOnesAreTakenUpByAReloadAndWrongOnesAreNot) {
  const std::string former = dir / "former.pem";
  std::filesystem::copy(certificate, former);
  TlsDaemon https(arguments());
  const auto trusted_by = [&](const std::string& file) {
    return TlsClient(https.connect(), file).shake_hands();
  };
  EXPECT_TRUE(trusted_by(former));
  make_certificate(certificate, key);
  EXPECT_FALSE(trusted_by(certificate));
  TlsClient waiting(https.connect(), former);  // lives through the change
  ASSERT_TRUE(waiting.shake_hands());
  https.unix_socket.daemon.process().signal(SIGHUP);
  EXPECT_TRUE(eventually(
      [&] { return https.unix_socket.daemon.log().find("reloaded") != std::string::npos; }));
  EXPECT_TRUE(trusted_by(certificate));
  EXPECT_FALSE(trusted_by(former));
  waiting.send("GET /healthz HTTP/1.1\r\n\r\n");
  EXPECT_THAT(waiting.receive(), HasSubstr("HTTP/1.1 200"));

  ASSERT_EQ(::chmod(key.c_str(), 0644), 0);
  https.unix_socket.daemon.process().signal(SIGHUP);
  EXPECT_TRUE(eventually([&] {
    return https.unix_socket.daemon.log().find("the certificate in use stays") != std::string::npos;
  }));
  EXPECT_TRUE(trusted_by(certificate));
}

}  // namespace
}  // namespace aqua::testing
