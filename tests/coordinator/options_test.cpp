// SPDX-License-Identifier: Apache-2.0
#include "coordinator/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "tests/base/temp_dir.hpp"

namespace aqua::coordinator {
namespace {

using aqua::testing::TempDir;
using ::testing::HasSubstr;

Result<Options> parse(const std::vector<const char*>& arguments) {
  return parse_options(arguments);
}

TEST(Options, EverythingFollowsTheDataDirectory) {
  const auto options = parse({"--data", "/run/aqua"});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(to_string(options->listen), "unix:/run/aqua/coordinator.sock");
  EXPECT_EQ(options->lifeline, "/run/aqua/lifeline.sock");
  EXPECT_EQ(options->socket_mode, 0600U);
}

TEST(Options, PathsThatClientsAreToldAreAbsolute) {
  namespace fs = std::filesystem;
  const fs::path before = fs::current_path();
  TempDir dir;
  fs::current_path(dir.path());
  const auto options = parse({"--data", "a/../b", "--lifeline", "l"});
  fs::remove(dir.path());
  const auto nowhere = parse({"--data", "b"});
  fs::current_path(before);
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_EQ(options->data, dir / "b");
  EXPECT_EQ(options->lifeline, dir / "l");
  ASSERT_FALSE(nowhere.ok());
  EXPECT_THAT(nowhere.error().message, HasSubstr("cannot make b absolute"));
}

TEST(Options, EveryOptionIsTaken) {
  const auto options = parse({"--data=/d",
                              "--listen",
                              "127.0.0.1:7070",
                              "--lifeline",
                              "/l",
                              "--client-ttl",
                              "100",
                              "--lease-ttl=200",
                              "--share-producers",
                              "--share-device",
                              "--max-watches",
                              "7",
                              "--socket-mode",
                              "660",
                              "--allow-uid",
                              "1000",
                              "--allow-uid",
                              "1001",
                              "--log-level",
                              "debug",
                              "--log-format",
                              "json"});
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_EQ(to_string(options->listen), "127.0.0.1:7070");
  EXPECT_EQ(options->lifeline, "/l");
  EXPECT_EQ(options->limits.client_ttl, ledger::Time{100});
  EXPECT_EQ(options->limits.lease_ttl, ledger::Time{200});
  EXPECT_TRUE(options->limits.share_producers);
  EXPECT_TRUE(options->limits.share_device);
  EXPECT_EQ(options->max_watches, 7U);
  EXPECT_EQ(options->socket_mode, 0660U);
  EXPECT_EQ(options->peers.allowed_uids, (std::set<std::uint32_t>{1000, 1001}));
  EXPECT_EQ(options->log_level, "debug");
  EXPECT_EQ(options->log_format, LogFormat::json);
}

TEST(Options, NonsenseIsRefusedAndNamed) {
  const std::vector<std::vector<const char*>> cases{
      {"--nonsense", "1"},      {"--nonsense"},           {"--data"},
      {"--client-ttl", "0"},    {"--lease-ttl", "-1"},    {"--max-watches", "x"},
      {"--socket-mode", "999"}, {"--log-level", "all"},   {"--log-format", "xml"},
      {"--allow-uid", ""},      {"--listen", "1.2.3.4:5"}};
  for (const auto& arguments : cases) {
    const auto options = parse(arguments);
    ASSERT_FALSE(options.ok()) << arguments[0];
    EXPECT_EQ(options.error().code, Code::invalid_argument);
    if (arguments[0] == std::string("--listen")) continue;  // the address is named instead
    EXPECT_THAT(options.error().message, HasSubstr(arguments[0]));
  }
}

TEST(Options, TlsIsServedOnAnyAddressBesideTheUnixSocket) {
  for (const char* listen : {"127.0.0.1:0", "0.0.0.0:7070", "[::]:7070", "10.1.2.3:1"}) {
    const auto options = parse({"--tls-listen", listen, "--tls-cert=/c", "--tls-key=/k"});
    ASSERT_TRUE(options.ok()) << options.error().message;
    EXPECT_EQ(to_string(options->tls_listen.value()), listen);
    EXPECT_TRUE(options->listen.is_unix());
    EXPECT_EQ(options->tls.certificate, "/c");
    EXPECT_EQ(options->tls.key, "/k");
  }
}

TEST(Options, TlsWantsAllThreeAndTcp) {
  const char* const listen = "--tls-listen=127.0.0.1:7070";
  const std::vector<std::vector<const char*>> cases{{listen},
                                                    {listen, "--tls-cert=/c"},
                                                    {listen, "--tls-key=/k"},
                                                    {"--tls-cert=/c", "--tls-key=/k"},
                                                    {"--tls-cert=", "--tls-key=/k", listen},
                                                    {"--tls-listen=unix:/x"},
                                                    {"--tls-listen=example.com:80"}};
  for (const auto& arguments : cases) {
    const auto refused = parse(arguments);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::invalid_argument);
    EXPECT_THAT(refused.error().message, HasSubstr("--tls-"));
  }
}

TEST(Options, LifelinePathIsMadeAbsoluteForClientsElsewhere) {
  EXPECT_EQ(parse({"--lifeline", "x.sock"})->lifeline.front(), '/');
}

TEST(Options, OneSocketCannotServeBoth) {
  const auto options = parse({"--listen", "unix:/x", "--lifeline", "/x"});
  ASSERT_FALSE(options.ok());
  EXPECT_THAT(options.error().message, HasSubstr("must differ"));
}

TEST(Options, DataDirectoryTooDeepForSocketsIsRefusedWithTheLengths) {
  const std::string deep = "/" + std::string(100, 'd');
  const auto options = parse({"--data", deep.c_str()});
  ASSERT_FALSE(options.ok());
  EXPECT_EQ(options.error().code, Code::invalid_argument);
  EXPECT_THAT(options.error().message, HasSubstr("at most 107"));
}

}  // namespace
}  // namespace aqua::coordinator
