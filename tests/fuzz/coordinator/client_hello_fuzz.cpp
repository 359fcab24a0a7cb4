// SPDX-License-Identifier: Apache-2.0
// Any bytes as the beginning of a connection: what a prefix was found to be, more bytes never
// change, and nine are enough to tell.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "coordinator/tls/client_hello.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace aqua::coordinator;
  const std::string_view all(reinterpret_cast<const char*>(data), std::min(size, kHelloHeadBytes));
  Greeting before = Greeting::unfinished;
  for (std::size_t n = 0; n <= all.size(); ++n) {
    const Greeting now = greeting_of(all.substr(0, n));
    if (before != Greeting::unfinished && now != before) std::abort();
    if (now == Greeting::hello && n < kHelloHeadBytes) std::abort();
    before = now;
  }
  if (all.size() == kHelloHeadBytes && before == Greeting::unfinished) std::abort();
  return 0;
}
