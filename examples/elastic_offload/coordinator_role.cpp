// The coordinator's process: it asks the kernel to die with the orchestrator, which survives
// execve(), and becomes aqua-coordinator.
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "must.hpp"
#include "roles.hpp"

namespace aqua::example {
namespace {

// Beside this program, as installed, or where the build puts it.
std::filesystem::path find_program() {
  const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  for (const char* place : {"aqua-coordinator", "../../coordinator/aqua-coordinator"}) {
    if (std::filesystem::exists(here / place)) return here / place;
  }
  throw Failure("no aqua-coordinator near " + here.string() +
                ": build that target too, or give --coordinator-binary");
}

}  // namespace

std::string coordinator_address(const Options& options) {
  return "unix:" + (options.directory / "coordinator.sock").string();
}

int run_coordinator(const Options& options) {
  const std::string program =
      options.coordinator.empty() ? find_program() : std::filesystem::absolute(options.coordinator);
  const std::string listen = coordinator_address(options);
  const std::string data = (options.directory / "coordinator").string();
  ::signal(SIGPIPE, SIG_DFL);
  ::execl(program.c_str(), program.c_str(), "--listen", listen.c_str(), "--data", data.c_str(),
          "--log-level", "error", nullptr);
  throw Failure(program + ": " + std::strerror(errno));
}

}  // namespace aqua::example
