// SPDX-License-Identifier: Apache-2.0
// Any bytes as what an engine of the fleet is asked or ordered, and as what a source says to the
// destination: read, or refused as invalid_argument.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "serve/crossed.hpp"
#include "speech/asked.hpp"
#include "speech/orders.hpp"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace aqua::fleet;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto asked = parse_asked(text);
  if (asked.ok()) {
    require(asked->prompt.empty() != asked->text.empty());
    require(asked->answered < asked->prompt.size() || asked->answered == 0);
    require(asked->min_tokens <= asked->max_tokens || asked->max_tokens == 0);
    require(asked->sampler.temperature >= 0);
    require(!asked->receive || (asked->stream && !asked->name.request.empty()));
  } else {
    require(asked.error().code == aqua::Code::invalid_argument);
  }
  const auto order = parse_order(text);
  require(order.ok() || order.error().code == aqua::Code::invalid_argument);
  require(!order.ok() || !order->name.request.empty());
  const auto tokenized = parse_tokenize(text);
  require(tokenized.ok() || tokenized.error().code == aqua::Code::invalid_argument);
  if (const auto crossed = crossed_of(text, true)) {
    require(!crossed->fills.empty() && crossed->fills.size() <= kMostFills);
    require(state_of(crossed->fills, crossed->ids) == text);
  }
  if (const auto ids = crossed_of(text, false)) require(state_of(ids->ids) == text);
  return 0;
}
