// SPDX-License-Identifier: Apache-2.0
// Any bytes as what another courier says, and as a courier's file of options: refused with a
// message, or said again as it was heard.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tools/courier/options.hpp"
#include "tools/courier/wire/frame.hpp"
#include "tools/courier/wire/messages.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace aqua;
  using namespace aqua::courier;
  if (FrameHeadBytes head{}; size >= head.size()) {
    std::copy_n(reinterpret_cast<const std::byte*>(data), head.size(), head.begin());
    if (const auto read = decode_head(head); read.ok() && encode(*read) != head) std::abort();
  }
  const std::string_view words(reinterpret_cast<const char*>(data), size);
  if (const auto message = decode(words); message.ok()) {
    const std::string again = encode(*message);
    const auto heard = decode(again);
    if (!heard.ok() || encode(*heard) != again) std::abort();
  } else if (message.error().code != Code::invalid_argument) {
    std::abort();
  }
  const auto options = parse_options(words);
  if (!options.ok() && options.error().code != Code::invalid_argument) std::abort();
  return 0;
}
