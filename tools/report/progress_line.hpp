// SPDX-License-Identifier: Apache-2.0
// ProgressLine: a line that says how far a long command is, rewritten in place on a terminal.
// Threads: one.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>

namespace aqua::report {

class ProgressLine {
 public:
  // Where it shows anything. What is no terminal gets a line of its own every five seconds.
  enum class Where { nowhere, terminals, everywhere };

  // `name` begins every line.
  ProgressLine(std::FILE* stream, Where where, std::string name = "");
  // Clears a line that does not stay.
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Is it time for another show()? For text that costs something to make.
  [[nodiscard]] bool due() const { return on_ && std::chrono::steady_clock::now() >= next_; }
  void show(const std::string& text);  // does nothing unless due()
  // A bar and `what`.
  void show(const std::string& what, std::size_t done, std::size_t of);
  void end(const std::string& text);  // the last, which stays

 private:
  void print(const std::string& text, bool stays);

  std::FILE* const stream_;
  const bool terminal_;
  const bool on_;
  std::string name_;  // as wide as the other lines' names
  bool drawn_ = false;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now();
};

}  // namespace aqua::report
