// SPDX-License-Identifier: Apache-2.0
// The coordinator's daemon over a file system in which it may die at any write:
//   aqua_crash_daemon STEP:COUNT:kill|- [options of aqua-coordinator]
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string_view>

#include "coordinator/daemon.hpp"
#include "tests/crash/step_vfs.hpp"
#include "tests/kill/arming.hpp"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  aqua::testing::install_step_vfs();
  const std::string_view at = argv[1];
  if (at != "-" && !aqua::kill_test::arm(at).ok()) return 2;
  spdlog::set_default_logger(spdlog::stderr_logger_mt("coordinator"));
  spdlog::set_level(spdlog::level::warn);
  std::signal(SIGPIPE, SIG_IGN);
  const std::span<const char* const> arguments(argv + 2, argv + argc);
  auto options = aqua::coordinator::parse_options(arguments);
  if (!options.ok()) {
    std::fprintf(stderr, "%s\n", options.error().message.c_str());
    return 2;
  }
  // So small that even a short life copies its log and begins it anew.
  options->store_log = {.copy = 16 << 10, .restart = 64 << 10};
  auto daemon = aqua::coordinator::Daemon::start(*options);
  if (!daemon.ok()) {
    std::fprintf(stderr, "%s\n", daemon.error().message.c_str());
    return 1;
  }
  std::printf("listening on %s\n", to_string((*daemon)->address()).c_str());
  std::fflush(stdout);
  for (;;) ::pause();
}
