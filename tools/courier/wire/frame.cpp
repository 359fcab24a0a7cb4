// SPDX-License-Identifier: Apache-2.0
#include "tools/courier/wire/frame.hpp"

#include "base/concat.hpp"

namespace aqua::courier {

FrameHeadBytes encode(const FrameHead& head) {
  const auto byte = [&](int shift) { return static_cast<std::byte>(head.length >> shift); };
  return {static_cast<std::byte>(head.kind), byte(16), byte(8), byte(0)};
}

Result<FrameHead> decode_head(const FrameHeadBytes& bytes) {
  const auto value = [&](std::size_t i) { return std::to_integer<std::uint32_t>(bytes[i]); };
  const std::uint32_t kind = value(0);
  const std::uint32_t length = (value(1) << 16) | (value(2) << 8) | value(3);
  if (kind >= 1 && kind <= 3) {
    const FrameHead head{static_cast<FrameKind>(kind), length};
    if (length > 0 && length <= most_in(head.kind)) return head;
  }
  return Error{Code::invalid_argument,
               concat("courier: a frame of kind ", kind, " and ", length, " bytes")};
}

}  // namespace aqua::courier
