// SPDX-License-Identifier: Apache-2.0
// The coordinator's process: it asks the kernel to die with the orchestrator, which survives
// execve(), and becomes aqua-coordinator.
#include "daemon_program.hpp"
#include "roles.hpp"

namespace aqua::example {

std::string coordinator_address(const Options& options) {
  return coordinator_address(options.directory);
}

int run_coordinator(const Options& options) {
  become_coordinator(options.coordinator, options.directory);
}

}  // namespace aqua::example
