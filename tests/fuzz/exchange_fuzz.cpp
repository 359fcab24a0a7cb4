// SPDX-License-Identifier: Apache-2.0
// Any bytes as an exchange message: decode() never crashes, and what it accepts is exactly
// what encode() writes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "lending/exchange_wire.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace aqua::lending;
  std::vector<std::byte> bytes(size);
  std::copy_n(reinterpret_cast<const std::byte*>(data), size, bytes.begin());
  const auto message = decode(bytes);
  if (!message.ok()) {
    if (message.error().code != aqua::Code::invalid_argument) std::abort();
    return 0;
  }
  if (size > kMaxExchangeBytes || encode(*message) != bytes) std::abort();
  if (const auto* reply = std::get_if<Reply>(&*message)) {
    for (const ReplyEntry& entry : reply->entries) {
      if (from_reply_code(entry.code) > aqua::Code::internal) std::abort();
    }
  }
  return 0;
}
