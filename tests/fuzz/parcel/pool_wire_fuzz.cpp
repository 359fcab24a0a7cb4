// SPDX-License-Identifier: Apache-2.0
// Any bytes as a pool member's packet to the keeper, and as its answer: refused with a message or
// read, and what is read is written, read and written again as the same text.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "parcel/pool_wire.hpp"
#include "tests/fuzz/written_again.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace aqua::pool_wire;
  const std::string_view packet(reinterpret_cast<const char*>(data), size);
  aqua::fuzz::check_request(packet, decode_pool_request);
  aqua::fuzz::check_reply(packet, decode_pool_reply);
  return 0;
}
