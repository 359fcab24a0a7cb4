// SPDX-License-Identifier: Apache-2.0
// The configuration file: TOML, one key for each option, of the same name.
//
//   listen = "unix:/run/aqua/coordinator.sock"
//   client-ttl = 3000
//   allow-uid = [1000, 1001]
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"

namespace aqua::coordinator {

struct FileSetting {
  std::string name;
  std::vector<std::string> values;  // more than one, or none, only for lists
  std::size_t line = 0;
};

// `path` is for messages. invalid_argument names file, line and column: not TOML, a key that
// nobody knows, a value of the wrong type, text beyond ASCII outside of comment lines (in strings
// it is written with escapes, "\u00E9"), strings of several lines. Values are not looked at beyond
// their type.
[[nodiscard]] Result<std::vector<FileSetting>> parse_config(std::string_view text,
                                                            const std::string& path);
// Reads such a file, of at most 1 MiB. not_found and permission_denied as the system says.
[[nodiscard]] Result<std::vector<FileSetting>> read_config(const std::string& path);

// `text` as such a file has it: in quotes, with escapes.
[[nodiscard]] std::string config_string(const std::string& text);

}  // namespace aqua::coordinator
