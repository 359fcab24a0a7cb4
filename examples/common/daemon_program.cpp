// SPDX-License-Identifier: Apache-2.0
#include "coordinator_program.hpp"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "must.hpp"

namespace aqua::example {
namespace {

std::filesystem::path find_program() {
  const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  for (const char* place : {"aqua-coordinator", "../../coordinator/aqua-coordinator"}) {
    if (std::filesystem::exists(here / place)) return here / place;
  }
  throw Failure("no aqua-coordinator near " + here.string() +
                ": build that target too, or give --coordinator-binary");
}

}  // namespace

std::string coordinator_address(const std::filesystem::path& directory) {
  return "unix:" + (directory / "coordinator.sock").string();
}

void become_coordinator(const std::filesystem::path& given,
                        const std::filesystem::path& directory) {
  const std::string program = given.empty() ? find_program() : std::filesystem::absolute(given);
  const std::string listen = coordinator_address(directory);
  const std::string data = (directory / "coordinator").string();
  ::signal(SIGPIPE, SIG_DFL);
  ::execl(program.c_str(), program.c_str(), "--listen", listen.c_str(), "--data", data.c_str(),
          "--log-level", "error", nullptr);
  throw Failure(program + ": " + std::strerror(errno));
}

}  // namespace aqua::example
