// SPDX-License-Identifier: Apache-2.0
// ProgressLine: a line that is rewritten in place on a terminal, and printed every few seconds
// elsewhere. Threads: one.
#pragma once

#include <chrono>
#include <string>

namespace aqua::example {

class ProgressLine {
 public:
  explicit ProgressLine(std::string name);  // what every line begins with
  // Is it time for another show()? For text that costs something to make.
  [[nodiscard]] bool due() const { return std::chrono::steady_clock::now() >= next_; }
  void show(const std::string& text);  // does nothing unless due()
  void end(const std::string& text);   // the last, which stays

 private:
  void print(const std::string& text, bool stays);

  std::string name_;
  bool terminal_;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now();
};

}  // namespace aqua::example
