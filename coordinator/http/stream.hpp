// SPDX-License-Identifier: Apache-2.0
// Stream carries one request's bytes in and its reply's out: a connection, or a test's memory.
//
// Threads: one.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string_view>

namespace aqua::coordinator {

class Stream {
 public:
  virtual ~Stream() = default;
  // As read(2) and write(2), waiting until some bytes have passed; -1 with ETIMEDOUT at a deadline.
  [[nodiscard]] virtual ssize_t read(char* out, std::size_t size) = 0;
  [[nodiscard]] virtual ssize_t write(const char* bytes, std::size_t size) = 0;
};

// Writes all of `text`. False when the other side is gone, or too slow.
inline bool write_all(Stream& stream, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = stream.write(text.data(), text.size());
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace aqua::coordinator
