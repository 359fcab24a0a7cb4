// SPDX-License-Identifier: Apache-2.0
#include "device/boot_uuid.hpp"

#include <cstdint>
#include <fstream>
#include <string>

#include "base/concat.hpp"
#include "device/memfd/mix.hpp"

namespace aqua::device {
namespace {

std::uint64_t fnv1a(std::string_view text, std::uint64_t start) {
  std::uint64_t hash = start;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return mix(hash);
}

}  // namespace

DeviceUuid boot_uuid(std::string_view device_name) {
  // Without /proc the id is the name's alone: still the same in every process.
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  const std::string text = concat(boot, '/', device_name);
  const std::uint64_t halves[] = {fnv1a(text, 0xcbf29ce484222325U), fnv1a(text, mix(1))};
  DeviceUuid uuid;
  for (std::size_t i = 0; i < uuid.bytes.size(); ++i) {
    uuid.bytes[i] = static_cast<std::uint8_t>(halves[i / 8] >> (8 * (i % 8)));
  }
  return uuid;
}

}  // namespace aqua::device
