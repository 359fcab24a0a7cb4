// SPDX-License-Identifier: Apache-2.0
// Every option of the daemon, once: its name on the command line (--name), in the environment
// (AQUA_COORDINATOR_NAME) and in the configuration file (name), and what it does to Options.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "aqua/result.hpp"
#include "coordinator/options.hpp"

namespace aqua::coordinator {

enum class OptionKind : std::uint8_t {
  text,    // in the file a string
  number,  // in the file an integer
  list,    // of integers; in the file an array, elsewhere repeated or with commas
  flag,    // in the file a boolean
};

struct OptionSpec {
  const char* name;
  OptionKind kind;
  const char* value;  // what stands for it in the help; "" for flags
  const char* help;
  bool reloads = false;  // takes effect with SIGHUP
};

[[nodiscard]] std::span<const OptionSpec> option_table();
[[nodiscard]] const OptionSpec* find_option(std::string_view name);
[[nodiscard]] std::string environment_name(const OptionSpec& spec);

// One value of one option; a list gets one element with each call. invalid_argument says what
// was expected, without the option's name: the caller knows by which of its names it came.
[[nodiscard]] Result<void> set_option(Options& options, std::string_view name,
                                      std::string_view value);

}  // namespace aqua::coordinator
