// SPDX-License-Identifier: Apache-2.0
// Any bytes into every decoder: nothing crashes, and what is taken can be sent again and is
// then taken as the same. An even first byte: the rest is the text. An odd one: the rest are
// edits (two bytes of place, one of value) of a well-formed message of each kind.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tests/wire/samples.hpp"

namespace {

using aqua::wire::samples::kNow;

template <typename Message>
void decode_any(std::string_view text) {
  const auto first = aqua::wire::decode<Message>(text, kNow);
  if (!first.ok()) {
    if (first.error().code != aqua::Code::invalid_argument) std::abort();
    return;
  }
  const std::string sent = aqua::wire::encode(*first, kNow);
  const auto second = aqua::wire::decode<Message>(sent, kNow);
  if (!second.ok() || aqua::wire::encode(*second, kNow) != sent) std::abort();
}

std::string edited(std::string text, std::string_view edits) {
  for (; edits.size() >= 3; edits.remove_prefix(3)) {
    const auto high = static_cast<unsigned char>(edits[0]);
    const auto low = static_cast<unsigned char>(edits[1]);
    text[(std::size_t{high} << 8 | low) % text.size()] = edits[2];
  }
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const bool whole = data[0] % 2 == 0;
  aqua::wire::samples::for_each([&]<typename Message>(const Message& sample) {
    decode_any<Message>(whole ? std::string(rest) : edited(aqua::wire::encode(sample, kNow), rest));
  });
  return 0;
}
