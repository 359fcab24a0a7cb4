// SPDX-License-Identifier: Apache-2.0
// MetricsText writes metrics in Prometheus' text format. Header only. Names outlive it.
//
// Threads: one at a time.
#pragma once

#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>

namespace aqua {

class MetricsText {
 public:
  // Samples of this name follow. `kind` is "gauge" or "counter".
  void type(std::string_view name, std::string_view kind) {
    name_ = name;
    text_.append("# TYPE ").append(name).append(" ").append(kind).append("\n");
  }
  // One without a label, and the sample of one with it, whose value may be any text of one line.
  template <typename Number>
  void sample(Number value) {
    text_.append(name_);
    end_line(value);
  }
  template <typename Number>
  void sample(std::string_view label, std::string_view is, Number value) {
    text_.append(name_).append("{").append(label).append("=\"");
    for (const char c : is) {
      if (c == '"' || c == '\\') text_ += '\\';
      text_ += c;
    }
    text_.append("\"}");
    end_line(value);
  }
  template <typename Number>
  void gauge(std::string_view name, Number value) {
    type(name, "gauge");
    sample(value);
  }
  template <typename Number>
  void counter(std::string_view name, Number value) {
    type(name, "counter");
    sample(value);
  }
  [[nodiscard]] std::string text() && { return std::move(text_); }

 private:
  template <typename Number>
  void end_line(Number value) {
    std::array<char, 32> digits{};  // the longest double has 24
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    text_.append(" ").append(digits.data(), end).append("\n");
  }

  std::string_view name_{};
  std::string text_{};
};

}  // namespace aqua
