// SPDX-License-Identifier: Apache-2.0
#include "device/share_handle.hpp"

#include "base/concat.hpp"

namespace aqua::device {
namespace {

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::string_view to_string(HandleType type) noexcept {
  return type == HandleType::fabric ? "fabric" : "posix_fd";
}

Result<HandleType> negotiate(const ShareOffer& exporter, const ShareOffer& importer) {
  const auto refuse = [](const auto&... why) {
    return Error{Code::failed_precondition, concat("no common way to share memory: ", why...)};
  };
  const bool one_server = exporter.server == importer.server;
  if (one_server && exporter.posix_fd && importer.posix_fd) return HandleType::posix_fd;
  if (!exporter.fabric || !importer.fabric) {
    return refuse(exporter.fabric ? "the importer" : "the exporter", " offers no fabric handles",
                  one_server ? ", and not both sides descriptors" : ", and they are two servers");
  }
  if (exporter.domain.empty() || exporter.domain != importer.domain) {
    return refuse("NVLink domains '", exporter.domain, "' and '", importer.domain, "'");
  }
  return HandleType::fabric;
}

std::string encode(const FabricHandle& handle) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * handle.size());
  for (const std::byte b : handle) {
    text.push_back(kDigits[std::to_integer<std::size_t>(b >> 4)]);
    text.push_back(kDigits[std::to_integer<std::size_t>(b & std::byte{15})]);
  }
  return text;
}

Result<FabricHandle> decode_fabric(std::string_view text) {
  FabricHandle handle{};
  if (text.size() != 2 * handle.size()) {
    return Error{Code::invalid_argument, concat("fabric handle: expected ", 2 * handle.size(),
                                                " hex digits, got ", text.size(), " characters")};
  }
  for (std::size_t i = 0; i < handle.size(); ++i) {
    const int high = digit(text[2 * i]);
    const int low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0) {
      return Error{Code::invalid_argument,
                   concat("fabric handle: byte ", i, " is not two lower-case hex digits")};
    }
    handle[i] = static_cast<std::byte>(16 * high + low);
  }
  return handle;
}

}  // namespace aqua::device
