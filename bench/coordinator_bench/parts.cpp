// SPDX-License-Identifier: Apache-2.0
#include "coordinator_bench/parts.hpp"

namespace aqua::bench {

std::vector<std::string> daemon_arguments(const std::vector<std::string>& extra) {
  std::vector<std::string> arguments{"--client-ttl",       "3600000", "--lease-ttl", "3600000",
                                     "--max-clients",      "4096",    "--max-rate",  "1000000",
                                     "--max-process-rate", "1000000", "--log-level", "error"};
  arguments.insert(arguments.end(), extra.begin(), extra.end());
  return arguments;
}

Server server_of(const Coordinator& daemon) {
  return {wire::socket_address({.path = daemon.directory() + "/c.sock", .host = {}, .port = 0}),
          daemon.pid()};
}

}  // namespace aqua::bench
