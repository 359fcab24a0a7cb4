// SPDX-License-Identifier: Apache-2.0
// How the processes of the demonstration talk: one JSON object a line, over pipes.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace aqua::example {

inline constexpr std::chrono::milliseconds kNow{0};  // the patience of who looks and does not wait

// Reads whole lines from a pipe that it borrows and makes non-blocking.
class LineReader {
 public:
  explicit LineReader(int fd);
  // Waits up to `patience` for something to read, then returns every complete line there is.
  [[nodiscard]] std::vector<std::string> read(std::chrono::milliseconds patience);
  // The other side has closed its end, and everything was read.
  [[nodiscard]] bool ended() const noexcept { return ended_; }

 private:
  int fd_;
  std::string partial_;
  bool ended_ = false;
};

// The same, parsed; a line that is no JSON object throws Failure.
[[nodiscard]] nlohmann::json parse_line(std::string_view line);

// Blocks while the pipe is full. False when nobody reads it any more. Where `fd` does not block,
// `while_full` is called ten times a second meanwhile: whoever does not read may have to be killed.
bool write_line(int fd, const nlohmann::json& message,
                const std::function<void()>& while_full = {});

}  // namespace aqua::example
