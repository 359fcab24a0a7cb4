// SPDX-License-Identifier: Apache-2.0
// Any bytes as a file of tokens: nothing crashes, and what is taken has roles and short names.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tools/access/tokens.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto tokens = aqua::access::parse_tokens({reinterpret_cast<const char*>(data), size});
  if (!tokens.ok()) {
    if (tokens.error().code != aqua::Code::invalid_argument) std::abort();
    return 0;
  }
  for (const auto& token : *tokens) {
    if (token.role == aqua::access::Role::none || token.name.size() > 128 || token.issued < 0)
      std::abort();
  }
  return 0;
}
