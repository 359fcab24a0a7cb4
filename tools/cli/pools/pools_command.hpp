// SPDX-License-Identifier: Apache-2.0
// aqua pools: the KV pools that a keeper has, the parcels that wait in them, and how they end.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "aqua/result.hpp"
#include "tools/options/command_line.hpp"

namespace aqua::tool {

enum class PoolsAction : std::uint8_t { list, parcels, cancel, release, quota, remove };

struct PoolsCommand {
  PoolsAction action = PoolsAction::list;
  std::string pool{};
  std::string id{};          // of the parcel to cancel
  std::string from{}, to{};  // roles, of the quota to move
  std::uint32_t slabs = 0;
  std::string keeper{};
  bool json = false;
  bool metrics = false;
};

[[nodiscard]] CommandLine pools_line(PoolsCommand& command);
// invalid_argument names the argument.
[[nodiscard]] Result<PoolsCommand> parse_pools(std::span<const std::string_view> arguments);
// The text to print.
[[nodiscard]] Result<std::string> run_pools(const PoolsCommand& command);

}  // namespace aqua::tool
