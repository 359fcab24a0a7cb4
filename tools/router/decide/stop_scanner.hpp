// SPDX-License-Identifier: Apache-2.0
// StopScanner ends an answer at the first stop text. The router looks for these itself, in what it
// passes on: one may begin on one engine and end on the next.
//
// Threads: not thread-safe. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace aqua::router {

class StopScanner {
 public:
  // Empty texts are none.
  explicit StopScanner(std::vector<std::string> stops);

  // What can be said of the text so far: all but an ending in which a stop text may have begun, or
  // all before a stop text.
  [[nodiscard]] std::string feed(std::string_view text);
  // What was kept back, once the answer has ended by itself.
  [[nodiscard]] std::string finish();
  [[nodiscard]] bool stopped() const noexcept { return stopped_; }

 private:
  std::vector<std::string> stops_;
  std::string kept_;
  bool stopped_ = false;
};

}  // namespace aqua::router
