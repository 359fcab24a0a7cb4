// SPDX-License-Identifier: Apache-2.0
#include "device/numa.hpp"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <climits>
#include <fstream>

#include "base/concat.hpp"

namespace aqua::device {

int numa_node_of_pci(std::string_view bus_id, const std::string& devices) {
  std::string name(bus_id);
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  int node = -1;
  if (!(std::ifstream(concat(devices, '/', name, "/numa_node")) >> node)) return -1;
  return node;
}

void prefer_numa_node(int node) noexcept {
  constexpr std::size_t kBits = sizeof(unsigned long) * CHAR_BIT;
  std::array<unsigned long, 16> mask{};
  const auto bit = static_cast<std::size_t>(node);
  if (node < 0 || bit >= mask.size() * kBits) return;
  mask[bit / kBits] |= 1UL << (bit % kBits);
  (void)::syscall(SYS_set_mempolicy, MPOL_PREFERRED, mask.data(), mask.size() * kBits);
}

}  // namespace aqua::device
