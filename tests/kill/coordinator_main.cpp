// SPDX-License-Identifier: Apache-2.0
// aqua_kill_coordinator [--at STEP:COUNT:kill|stop] OPTIONS: aqua-coordinator with steps that
// can be armed, from the start or by a line "STEP:COUNT:ACTION" on stdin. Ends with its stdin.
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <csignal>
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/daemon.hpp"
#include "coordinator/options.hpp"
#include "tests/kill/arming.hpp"

int main(int argc, char** argv) {
  std::vector<const char*> arguments(argv + 1, argv + argc);
  if (arguments.size() >= 2 && std::string_view(arguments[0]) == "--at") {
    if (!aqua::kill_test::arm(arguments[1]).ok()) return 2;
    arguments.erase(arguments.begin(), arguments.begin() + 2);
  }
  spdlog::set_default_logger(spdlog::stderr_logger_mt("coordinator"));
  std::signal(SIGPIPE, SIG_IGN);
  const auto options = aqua::coordinator::parse_options(arguments);
  if (!options.ok()) {
    std::fprintf(stderr, "%s\n", options.error().message.c_str());
    return 2;
  }
  auto daemon = aqua::coordinator::Daemon::start(*options);
  if (!daemon.ok()) {
    std::fprintf(stderr, "%s\n", daemon.error().message.c_str());
    return 1;
  }
  std::cout << "{}" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    if (!aqua::kill_test::arm(line).ok()) return 2;
    std::cout << "{}" << std::endl;
  }
  return 0;
}
