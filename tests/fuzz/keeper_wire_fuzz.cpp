// SPDX-License-Identifier: Apache-2.0
// Any bytes as a packet to the keeper, and as its answer: refused with a message or read, and what
// is read is written, read and written again as the same text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "systems/sharing/decide/keeper_wire.hpp"
#include "tests/fuzz/written_again.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace aqua::sharing::wire;
  const std::string_view packet(reinterpret_cast<const char*>(data), size);
  if (const auto request = decode_request(packet); request.ok()) {
    const std::string text = encode(*request);
    const auto again = decode_request(text);
    if (!again.ok() || again->index() != request->index() || encode(*again) != text) std::abort();
  } else if (request.error().code != aqua::Code::invalid_argument) {
    std::abort();
  }
  aqua::fuzz::check_reply(packet, decode_reply);
  return 0;
}
