// SPDX-License-Identifier: Apache-2.0
// Which versions give up a device's memory, and in which order: those that nobody reads, and were
// used longest ago first.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "aqua/sharing/models.hpp"

namespace aqua::sharing {

struct Unread {
  std::string model{};
  std::string version{};
  std::uint64_t bytes = 0;               // on the device
  std::vector<std::uint32_t> missing{};  // its shards there that host memory does not have
  bool host_has_some = false;            // of its shards
  std::uint32_t shards = 1;
  friend bool operator==(const Unread&, const Unread&) = default;
};

// The versions in these copies that have some on the device, all of them there, and known to be
// unread. Superseded ones go by themselves, one that lacks shards cannot be attached, to be copied,
// and where the device has two versions of a model engines would get the older one without the
// newer. Pure.
[[nodiscard]] std::vector<Unread> trim_order(std::span<const ModelCopy> copies,
                                             const std::string& device);

}  // namespace aqua::sharing
