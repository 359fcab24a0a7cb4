// SPDX-License-Identifier: Apache-2.0
// Server-sent events, as far as streamed completions use them: the data of each event.
// Threads: not thread-safe. Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "aqua/result.hpp"

namespace aqua::http {

class SseReader {
 public:
  static constexpr std::size_t kMaxEvent = std::size_t{1} << 20;

  // Calls `event` with the data of each event that `bytes` ends, lines joined by LF; comments and
  // other fields are passed over. resource_exhausted when an event is larger than kMaxEvent: then
  // nothing more is read.
  [[nodiscard]] Result<void> feed(std::string_view bytes,
                                  const std::function<void(std::string_view)>& event);

 private:
  void line(std::string_view text, const std::function<void(std::string_view)>& event);

  std::string line_;
  std::string data_;
  bool any_ = false;
  bool overflowed_ = false;
};

}  // namespace aqua::http
