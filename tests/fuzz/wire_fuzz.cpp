// Any bytes into every decoder: nothing crashes, and what is taken can be sent again and is
// then taken as the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "wire/samples.hpp"

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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  aqua::wire::samples::for_each(
      [&]<typename Message>(const Message&) { decode_any<Message>(text); });
  return 0;
}
