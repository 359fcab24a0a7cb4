// SPDX-License-Identifier: Apache-2.0
#include "tests/kill/node_options.hpp"

#include <charconv>
#include <string_view>

#include "base/concat.hpp"

namespace aqua::kill_test {

Result<NodeOptions> parse_node_options(std::span<const char* const> arguments) {
  NodeOptions options;
  for (std::size_t i = 0; i + 1 < arguments.size(); i += 2) {
    const std::string_view key = arguments[i];
    const std::string_view value = arguments[i + 1];
    if (key == "--role") {
      options.consumer = value == "consumer";
    } else if (key == "--name") {
      options.name = value;
    } else if (key == "--device") {
      options.device = value;
    } else if (key == "--coordinator") {
      options.coordinator = value;
    } else if (key == "--sockets") {
      options.sockets = value;
    } else if (key == "--at") {
      options.at = value;
    } else if (key == "--tenant") {
      if (std::from_chars(value.data(), value.data() + value.size(), options.tenant).ec !=
          std::errc{}) {
        return Error{Code::invalid_argument, concat("--tenant ", value)};
      }
    } else {
      return Error{Code::invalid_argument, concat("unknown option ", key)};
    }
  }
  if (arguments.size() % 2 != 0 || options.tenant == 0) {
    return Error{Code::invalid_argument,
                 "usage: aqua_kill_node --role producer|consumer --tenant N ..."};
  }
  return options;
}

std::vector<std::string> to_arguments(const NodeOptions& options) {
  return {"--role",        options.consumer ? "consumer" : "producer",
          "--name",        options.name,
          "--device",      options.device,
          "--coordinator", options.coordinator,
          "--sockets",     options.sockets,
          "--tenant",      concat(options.tenant),
          "--at",          options.at};
}

}  // namespace aqua::kill_test
