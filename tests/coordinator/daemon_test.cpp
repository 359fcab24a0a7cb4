// SPDX-License-Identifier: Apache-2.0
// The daemon as a program: its command line, its files, its end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/coordinator/daemon_process.hpp"
#include "tests/coordinator/ended_daemon.hpp"
#include "tests/coordinator/raw_session.hpp"
#include "tests/southbound/peers.hpp"
#include "tools/admin/operator.hpp"

namespace aqua::testing {
namespace {

using ::testing::HasSubstr;

TEST(Daemon, SecondOneOnTheSameDataDirectoryIsRefused) {
  DaemonProcess daemon;
  const auto second = run_daemon({"--data", daemon.data(), "--listen", "127.0.0.1:0"});
  EXPECT_EQ(second.status, 1);
  EXPECT_THAT(second.errors, HasSubstr("in use by another coordinator, process " +
                                       std::to_string(daemon.process().pid())));
  EXPECT_TRUE(admin::fetch_info(daemon.address()).ok());
}

TEST(Daemon, SecondOneOnTheSameSocketIsRefused) {
  DaemonProcess daemon;
  const TempDir other;
  const auto second = run_daemon({"--data", other.path(), "--listen", daemon.address()});
  EXPECT_EQ(second.status, 1);
  EXPECT_THAT(second.errors, HasSubstr("somebody listens on"));
  EXPECT_TRUE(admin::fetch_info(daemon.address()).ok());
}

TEST(Daemon, SocketPathTooLongIsRefusedWithBothLengths) {
  const auto ended = run_daemon({"--listen", "unix:/" + std::string(120, 'p')});
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.errors, HasSubstr("121 bytes; a Unix socket's has at most 107"));
}

TEST(Daemon, HostBeyondThisMachineIsRefused) {
  const auto ended = run_daemon({"--listen", "0.0.0.0:7070"});
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.errors, HasSubstr("host must be localhost"));
}

TEST(Daemon, DataDirectoryOthersMayWriteToIsRefused) {
  const TempDir dir;
  ::chmod(dir.path().c_str(), 0777);
  const auto ended = run_daemon({"--data", dir.path()});
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.errors, HasSubstr("writable by nobody else"));
}

TEST(Daemon, DataDirectoryThatIsALinkIsRefused) {
  const TempDir dir;
  std::filesystem::create_directory(dir / "real");
  std::filesystem::create_symlink(dir / "real", dir / "link");
  EXPECT_EQ(run_daemon({"--data", dir / "link"}).status, 1);
}

TEST(Daemon, FileInTheWayOfTheSocketIsLeftAlone) {
  const TempDir dir;
  std::ofstream(dir / "file") << "precious";
  const auto ended = run_daemon({"--data", dir / "data", "--listen", "unix:" + (dir / "file")});
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.errors, HasSubstr("is not a socket"));
  EXPECT_EQ(std::filesystem::file_size(dir / "file"), 8U);
}

TEST(Daemon, StaleSocketsOfAKilledOneAreReplaced) {
  DaemonProcess daemon;
  daemon.kill();
  EXPECT_TRUE(std::filesystem::exists(daemon.lifeline()));
  daemon.start();
  EXPECT_TRUE(admin::fetch_info(daemon.address()).ok());
}

TEST(Daemon, SocketsAndDirectoryArePrivateUnlessTold) {
  const auto mode_of = [](const std::string& path) {
    struct stat info {};
    EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 0777U;
  };
  DaemonProcess private_one;
  EXPECT_EQ(mode_of(private_one.data()), 0700U);
  EXPECT_EQ(mode_of(private_one.lifeline()), 0600U);
  EXPECT_EQ(mode_of(private_one.data() + "/coordinator.sock"), 0600U);
  DaemonProcess group_one({"--socket-mode", "660"});
  EXPECT_EQ(mode_of(group_one.lifeline()), 0660U);
  EXPECT_EQ(mode_of(group_one.data() + "/coordinator.sock"), 0660U);
}

TEST(Daemon, TermEndsItWithWatchesWaitingAndRemovesItsSockets) {
  DaemonProcess daemon;
  Peer peer(daemon.address(), "peer", false);
  EXPECT_EQ(daemon.stop(), 0);
  EXPECT_FALSE(std::filesystem::exists(daemon.lifeline()));
  EXPECT_FALSE(std::filesystem::exists(daemon.data() + "/coordinator.sock"));
}

TEST(Daemon, TermEndsItThoughAClientHangs) {
  DaemonProcess daemon;
  const wire::SocketAddress target =
      wire::socket_address(wire::parse_address(daemon.address()).value());
  const UniqueFd hanging(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::connect(hanging.get(), target.get(), target.length), 0);
  ASSERT_EQ(::send(hanging.get(), "GET /v1", 7, MSG_NOSIGNAL), 7);
  EXPECT_EQ(daemon.stop(), 0);
}

TEST(Daemon, VersionAndHelpEndWithZeroAndUnknownOptionsWithTwo) {
  EXPECT_THAT(run_daemon({"--version"}).output, HasSubstr("aqua-coordinator "));
  EXPECT_THAT(run_daemon({"--help"}).output, HasSubstr("Matches lenders"));
  EXPECT_EQ(run_daemon({"--version"}).status, 0);
  const auto ended = run_daemon({"--nonsense"});
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.errors, HasSubstr("unknown option --nonsense"));
}

TEST(Daemon, InfoTellsWhereTheLifelineIs) {
  DaemonProcess daemon;
  const auto info = admin::fetch_info(daemon.address());
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->lifeline, daemon.lifeline());
  EXPECT_FALSE(info->server.empty());
  std::string name;
  std::getline(std::ifstream("/proc/sys/kernel/hostname"), name);
  EXPECT_EQ(info->host, name);
  for (const char* path : {"/healthz", "/readyz"}) {
    EXPECT_EQ(ask(daemon.address(), {"GET", path, {}, {}}).status, 200) << path;
  }
}

TEST(Daemon, HangupReadsTheFileAgainAndABadFileChangesNothing) {
  const TempDir dir;
  const std::string config = dir / "c.toml";
  std::ofstream(config) << "log-level = \"warn\"\n";
  DaemonProcess daemon({"--config", config});
  const auto says = [&](const std::string& what) {
    return eventually([&] { return daemon.log().find(what) != std::string::npos; });
  };
  std::ofstream(config) << "log-level = \"info\"\nmax-watches = 3\n";
  daemon.process().signal(SIGHUP);
  EXPECT_TRUE(says("reload: max-watches takes effect with the next start only"));
  EXPECT_TRUE(says("reloaded"));
  std::ofstream(config) << "log-level = \"info\"\noops = 3\n";
  daemon.process().signal(SIGHUP);
  EXPECT_TRUE(says("nothing is changed"));
  EXPECT_THAT(daemon.log(), HasSubstr("c.toml:2:1: unknown key 'oops'"));
  EXPECT_EQ(ask(daemon.address(), {"GET", "/readyz", {}, {}}).status, 200);
  EXPECT_EQ(daemon.stop(), 0);
}

TEST(Daemon, TheConfigurationCanBeCheckedWithoutAStart) {
  const TempDir dir;
  const std::string config = dir / "c.toml";
  std::ofstream(config) << "max-watches = 3\n";
  ChildProcess good({AQUA_COORDINATOR_PROGRAM, "--config", config, "--check-config"});
  EXPECT_EQ(good.read_line(), "max-watches = 3");
  EXPECT_EQ(good.wait(), 0);
  std::ofstream(config) << "max-watches = 0\n";
  ChildProcess bad({AQUA_COORDINATOR_PROGRAM, "--config", config, "--check-config"}, dir / "err");
  EXPECT_EQ(bad.wait(), 2);
}

TEST(Daemon, WhatAStartWouldRefuseTheCheckRefusesToo) {
  const TempDir dir;
  std::ofstream(dir / "file") << "precious";
  std::filesystem::create_directory(dir / "open");
  ::chmod((dir / "open").c_str(), 0777);
  const auto check = [&](std::vector<std::string> arguments) {
    arguments.emplace_back("--check-config");
    const auto checked = run_daemon(arguments);
    EXPECT_EQ(checked.status, checked.errors.empty() ? 0 : 2);
    return checked.errors;
  };
  EXPECT_EQ(check({"--data", dir / "data"}), "");
  EXPECT_FALSE(std::filesystem::exists(dir / "data")) << "it makes nothing";
  EXPECT_THAT(check({"--data", dir / "no/data"}), HasSubstr("No such file"));
  EXPECT_THAT(check({"--data", dir / "open"}), HasSubstr("writable by nobody else"));
  EXPECT_THAT(check({"--data", dir / "data", "--listen", "unix:" + (dir / "file")}),
              HasSubstr("is not a socket"));
  EXPECT_THAT(check({"--data", dir / "data", "--listen", "unix:" + (dir / "no/socket")}),
              HasSubstr("No such file"));
  EXPECT_THAT(check({"--data", dir / "data", "--tls-listen", "192.0.2.1:0", "--tls-cert",
                     dir / "file", "--tls-key", dir / "file"}),
              HasSubstr("not a certificate in PEM"));
  DaemonProcess running;
  EXPECT_EQ(check({"--data", running.data(), "--listen", running.address()}), "")
      << "one that runs is to be replaced";
}

}  // namespace
}  // namespace aqua::testing
