// SPDX-License-Identifier: Apache-2.0
// Any events under any turns, three bytes each: the stream's filter says what its naive twin does.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "aqua/migration/stream_filter.hpp"
#include "tests/systems/migration/naive_stream.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace aqua::migration;
  StreamFilter stream;
  test::NaiveStream naive;
  for (std::size_t i = 0; i + 2 < size; i += 3) {
    if (data[i] == 0) {
      if (stream.raise() != naive.raise()) std::abort();
      continue;
    }
    const StreamFilter before = stream;
    const auto told = stream.take(data[i], data[i + 1], data[i + 2] % 8);
    const auto [passes, code] = naive.take(data[i], data[i + 1], data[i + 2] % 8);
    if (told.ok() != (code == aqua::Code::internal)) std::abort();
    if (told.ok() && *told != passes) std::abort();
    if (!told.ok() && (told.error().code != code || stream != before)) std::abort();
    if (stream.next() != naive.next()) std::abort();
  }
  return 0;
}
