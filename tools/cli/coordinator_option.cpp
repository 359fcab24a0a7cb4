// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/coordinator_option.hpp"

#include <cstdlib>
#include <filesystem>

#include "base/concat.hpp"

namespace aqua::tool {

void add_coordinator(CommandLine& line, std::string& address) {
  line.text("--coordinator", address, "ADDRESS",
            concat("unix:PATH, HOST:PORT or https://HOST:PORT; default: $AQUA_COORDINATOR, else "
                   "the package's, unix:",
                   kPackagedSocket));
}

Result<void> resolve_coordinator(std::string& address, std::string_view command,
                                 const char* packaged) {
  if (!address.empty()) return {};
  if (const char* named = std::getenv("AQUA_COORDINATOR"); named != nullptr && *named != '\0') {
    address = named;
    return {};
  }
  std::error_code none;
  if (std::filesystem::is_socket(packaged, none)) {
    address = concat("unix:", packaged);
    return {};
  }
  return Error{Code::invalid_argument,
               concat(command,
                      ": no coordinator: give --coordinator or set AQUA_COORDINATOR (there is "
                      "no ",
                      packaged, ")")};
}

}  // namespace aqua::tool
