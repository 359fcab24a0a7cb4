// SPDX-License-Identifier: Apache-2.0
// aqua models: what a keeper has, and how weights come to it and go.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "aqua/sharing/load_weights.hpp"
#include "tools/options/command_line.hpp"

namespace aqua::tool {

enum class ModelsAction : std::uint8_t { list, load, copy, verify, trim, drop, retire };

struct ModelsCommand {
  ModelsAction action = ModelsAction::list;
  std::vector<std::string> files{};    // to load
  std::vector<std::string> devices{};  // that the action is about; an empty name: $AQUA_DEVICE
  std::string from{};                  // the device to copy from
  std::vector<std::string> split{};    // PATTERN=AXIS
  sharing::LoadOptions load{};         // model, version, shard and keeper are those of every action
  std::uint64_t slab_mib = 256;
  std::uint64_t mib = 0;  // to trim
  bool copies = false;    // to list
  bool json = false;
};

[[nodiscard]] CommandLine models_line(ModelsCommand& command);
// invalid_argument names the argument.
[[nodiscard]] Result<ModelsCommand> parse_models(std::span<const std::string_view> arguments);
// The text to print.
[[nodiscard]] Result<std::string> run_models(const ModelsCommand& command);

}  // namespace aqua::tool
