// SPDX-License-Identifier: Apache-2.0
#include "base/ids.hpp"

#include <sys/random.h>

#include <cerrno>
#include <cstdlib>

#include "base/concat.hpp"
#include "base/text/hex.hpp"

namespace aqua::detail {

void fill_random(std::array<std::uint8_t, 16>& out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t n = ::getrandom(out.data() + done, out.size() - done, 0);
    if (n > 0) {
      done += static_cast<std::size_t>(n);
    } else if (errno != EINTR) {
      std::abort();  // a guessable secret would be worse than no process
    }
  }
}

Result<std::array<std::uint8_t, 16>> parse_hex(std::string_view text) {
  std::array<std::uint8_t, 16> bytes{};
  if (text.size() != 2 * bytes.size()) {
    return Error{Code::invalid_argument,
                 concat("id: expected 32 hex digits, got ", text.size(), " characters")};
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int digit = hex_value(text[i]);
    if (digit < 0) {
      return Error{Code::invalid_argument,
                   concat("id: character ", i, " is not a lower-case hex digit")};
    }
    bytes[i / 2] =
        static_cast<std::uint8_t>((unsigned{bytes[i / 2]} << 4) | static_cast<unsigned>(digit));
  }
  return bytes;
}

}  // namespace aqua::detail
