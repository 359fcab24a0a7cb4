// SPDX-License-Identifier: Apache-2.0
// The daemons of a demonstration: child processes that become aqua-coordinator, aqua-keeper
// or aqua-courier.
// Which program: the one given; where none is, the one beside this program, as installed, or where
// the build puts it. Errors: Failure, where there is none.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace aqua::example {

// Where the coordinator and the keeper listen; their sockets and data lie in `directory`.
[[nodiscard]] std::string coordinator_address(const std::filesystem::path& directory);
[[nodiscard]] std::string keeper_socket(const std::filesystem::path& directory);

// `more`: options of the daemon's.
[[noreturn]] void become_coordinator(const std::filesystem::path& given,
                                     const std::filesystem::path& directory,
                                     const std::vector<std::string>& more = {});
// With this file of options.
[[noreturn]] void become_courier(const std::filesystem::path& given,
                                 const std::filesystem::path& config);
[[noreturn]] void become_keeper(const std::filesystem::path& given,
                                const std::filesystem::path& directory);

}  // namespace aqua::example
