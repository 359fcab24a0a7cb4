// SPDX-License-Identifier: Apache-2.0
// Memory near a GPU: which node of this server that is, and how a thread asks for pages there.
#pragma once

#include <string>
#include <string_view>

namespace aqua::device {

// The node of a PCI device ("0000:3b:00.0", any case); -1 when the server has one node or does
// not say.
[[nodiscard]] int numa_node_of_pci(std::string_view bus_id,
                                   const std::string& devices = "/sys/bus/pci/devices");

// From now on the kernel takes new pages that this thread touches from `node` while it has any.
// Nothing for -1, or where the kernel refuses.
void prefer_numa_node(int node) noexcept;

}  // namespace aqua::device
