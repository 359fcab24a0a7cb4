// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/name.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "base/concat.hpp"

namespace aqua::device {
namespace {

constexpr std::string_view kOrdinal = "cuda:";
constexpr std::string_view kUuid = "GPU-";
constexpr std::string_view kInstance = "MIG-";  // of a partitioned GPU; of the same length
constexpr std::array<std::size_t, 4> kHyphens{8, 13, 18, 23};  // of a UUID's 36 characters

Error malformed(std::string_view name) {
  return Error{Code::invalid_argument,
               concat("device '", name, "': expected cuda:N, or GPU- or MIG-xxxxxxxx-",
                      "xxxx-xxxx-xxxx-xxxxxxxxxxxx, as nvidia-smi -L prints it")};
}

}  // namespace

bool is_cuda_name(std::string_view name) noexcept {
  return name.starts_with(kOrdinal) || name.starts_with(kUuid) || name.starts_with(kInstance);
}

Result<CudaName> parse_cuda_name(std::string_view name) {
  if (name.starts_with(kOrdinal)) {
    int ordinal = -1;
    const char* last = name.data() + name.size();
    const auto [end, error] = std::from_chars(name.data() + kOrdinal.size(), last, ordinal);
    if (error != std::errc{} || end != last || ordinal < 0) return malformed(name);
    return CudaName(ordinal);
  }
  if (!is_cuda_name(name) || name.size() != kUuid.size() + 36) return malformed(name);
  std::string digits;
  for (std::size_t i = 0; i < 36; ++i) {
    const char c = name[kUuid.size() + i];
    const bool hyphen = std::find(kHyphens.begin(), kHyphens.end(), i) != kHyphens.end();
    if (hyphen != (c == '-')) return malformed(name);
    if (!hyphen) digits.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
  }
  auto uuid = parse_id<DeviceTag>(digits);
  if (!uuid.ok()) return malformed(name);
  return CudaName(*uuid);
}

std::string gpu_name(const DeviceUuid& uuid) {
  std::string text = to_string(uuid);
  for (const std::size_t at : kHyphens) text.insert(at, 1, '-');
  return concat(kUuid, text);
}

}  // namespace aqua::device
