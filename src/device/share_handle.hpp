// SPDX-License-Identifier: Apache-2.0
// How two devices share memory: descriptors inside a server, fabric handles inside an NVLink
// domain that spans servers. Pure; no driver is asked.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "base/ids.hpp"

namespace aqua::device {

// What one side offers.
struct ShareOffer {
  DeviceUuid server;      // the same for all processes of one boot of one server
  bool posix_fd = false;  // slabs can be exported as descriptors
  bool fabric = false;    // and as fabric handles, inside the domain below
  std::string domain{};   // NVLink domain; empty: not known, and no fabric is shared
  friend bool operator==(const ShareOffer&, const ShareOffer&) = default;
};

// CUDA's CUmemFabricHandle: 64 opaque bytes.
using FabricHandle = std::array<std::byte, 64>;

}  // namespace aqua::device
