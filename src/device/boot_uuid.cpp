// SPDX-License-Identifier: Apache-2.0
#include "device/boot_uuid.hpp"

#include <cstdint>
#include <fstream>
#include <string>

#include "base/concat.hpp"
#include "base/fnv1a.hpp"
#include "device/memfd/mix.hpp"

namespace aqua::device {

DeviceUuid boot_uuid(std::string_view device_name) {
  // Without /proc the id is the name's alone: still the same in every process.
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  const std::string text = concat(boot, '/', device_name);
  const std::uint64_t halves[] = {mix(fnv1a(text)), mix(fnv1a(text, mix(1)))};
  DeviceUuid uuid;
  for (std::size_t i = 0; i < uuid.bytes.size(); ++i) {
    uuid.bytes[i] = static_cast<std::uint8_t>(halves[i / 8] >> (8 * (i % 8)));
  }
  return uuid;
}

}  // namespace aqua::device
