// SPDX-License-Identifier: Apache-2.0
// Any bytes as a configuration file: parse_config() never crashes, what it accepts are options
// that exist, and set_option() takes or refuses each value.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "coordinator/config_file.hpp"
#include "coordinator/option_table.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace aqua::coordinator;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto settings = parse_config(text, "file");
  if (!settings.ok()) {
    if (settings.error().code != aqua::Code::invalid_argument) std::abort();
    if (!settings.error().message.starts_with("file:")) std::abort();
    return 0;
  }
  Options options;
  for (const FileSetting& setting : *settings) {
    const OptionSpec* const spec = find_option(setting.name);
    if (spec == nullptr || setting.line == 0) std::abort();
    if (spec->kind != OptionKind::list && setting.values.size() != 1) std::abort();
    for (const std::string& value : setting.values) {
      const auto set = set_option(options, setting.name, value);
      if (!set.ok() && set.error().code != aqua::Code::invalid_argument) std::abort();
    }
  }
  return 0;
}
