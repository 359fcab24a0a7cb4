// SPDX-License-Identifier: Apache-2.0
// The coordinator of a demonstration: a child process that becomes aqua-coordinator.
#pragma once

#include <filesystem>
#include <string>

namespace aqua::example {

// Of the coordinator whose sockets and data lie in `directory`.
[[nodiscard]] std::string coordinator_address(const std::filesystem::path& directory);

// Executes `program`; empty: the one beside this program, as installed, or where the build puts
// it. Throws Failure when there is none; does not return otherwise.
[[noreturn]] void become_coordinator(const std::filesystem::path& program,
                                     const std::filesystem::path& directory);

}  // namespace aqua::example
