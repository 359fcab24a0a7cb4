// SPDX-License-Identifier: Apache-2.0
// Any bytes as a packet about segments to the keeper, and as its answer: refused with a message or
// read, and what is read is written, read and written again as the same text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "parcel/segment_wire.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace aqua::segment_wire;
  const std::string_view packet(reinterpret_cast<const char*>(data), size);
  const auto request = decode_request(packet);
  if (request.ok() && request->has_value()) {
    const std::string text = encode(**request);
    const auto again = decode_request(text);
    if (!again.ok() || !again->has_value() || (*again)->index() != (*request)->index() ||
        encode(**again) != text) {
      std::abort();
    }
  } else if (!request.ok() && request.error().code != aqua::Code::invalid_argument) {
    std::abort();
  }
  // A refusal, and what is no answer, are errors: they are answers too when they are encoded.
  const auto reply = decode_reply(packet);
  const std::string text = encode(reply);
  const auto again = decode_reply(text);
  if (again.ok() != reply.ok() || encode(again) != text) std::abort();
  if (!reply.ok() && again.error().code != reply.error().code) std::abort();
  return 0;
}
