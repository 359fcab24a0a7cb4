// SPDX-License-Identifier: Apache-2.0
// Any bytes as the coordinator's HTTP reply, and as the address of one: nothing crashes, a
// taken reply has a status and no more body than came, a taken address is written as it is read.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "southbound/http_call.hpp"
#include "wire/address.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto reply = aqua::southbound::parse_reply(text); reply.ok()) {
    if (reply->status < 100 || reply->status > 599 || reply->body.size() > size) std::abort();
  } else if (reply.error().code != aqua::Code::internal) {
    std::abort();
  }
  if (const auto address = aqua::wire::parse_address(text); address.ok()) {
    const auto again = aqua::wire::parse_address(aqua::wire::to_string(*address));
    if (!again.ok() || aqua::wire::to_string(*again) != aqua::wire::to_string(*address))
      std::abort();
  } else if (address.error().code != aqua::Code::invalid_argument) {
    std::abort();
  }
  return 0;
}
