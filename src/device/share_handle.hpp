// SPDX-License-Identifier: Apache-2.0
// How two devices share memory: descriptors inside a server, fabric handles inside an NVLink
// domain that spans servers. Pure; no driver is asked.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "aqua/result.hpp"
#include "base/ids.hpp"

namespace aqua::device {

enum class HandleType : std::uint8_t { posix_fd, fabric };
[[nodiscard]] std::string_view to_string(HandleType type) noexcept;

// What one side offers.
struct ShareOffer {
  DeviceUuid server;      // the same for all processes of one boot of one server
  bool posix_fd = false;  // slabs can be exported as descriptors
  bool fabric = false;    // and as fabric handles, inside the domain below
  std::string domain{};   // NVLink domain; empty: not known, and no fabric is shared
  friend bool operator==(const ShareOffer&, const ShareOffer&) = default;
};

// The best type that both offer. A descriptor wins where one can reach: it is closed with its
// holder, whereas whoever has read a fabric handle has it for good. failed_precondition, saying
// what is missing, when they have nothing in common.
[[nodiscard]] Result<HandleType> negotiate(const ShareOffer& exporter, const ShareOffer& importer);

// CUDA's CUmemFabricHandle: 64 opaque bytes. On a wire it is 128 lower-case hex digits.
using FabricHandle = std::array<std::byte, 64>;
[[nodiscard]] std::string encode(const FabricHandle& handle);
// invalid_argument unless `text` is exactly such digits.
[[nodiscard]] Result<FabricHandle> decode_fabric(std::string_view text);

}  // namespace aqua::device
