// SPDX-License-Identifier: Apache-2.0
#include "tools/report/progress_line.hpp"

#include <unistd.h>

#include <algorithm>

#include "base/concat.hpp"

namespace aqua::report {
namespace {

constexpr const char* kClear = "\r\033[K";

}  // namespace

ProgressLine::ProgressLine(std::FILE* stream, Where where, std::string name)
    : stream_(stream),
      terminal_(::isatty(::fileno(stream)) == 1),
      on_(where == Where::everywhere || (where == Where::terminals && terminal_)),
      name_(std::move(name)) {
  constexpr std::size_t kNameColumns = 14;
  if (!name_.empty()) name_.resize(std::max(kNameColumns, name_.size() + 1), ' ');
}

ProgressLine::~ProgressLine() {
  if (drawn_) std::fputs(kClear, stream_);
}

void ProgressLine::show(const std::string& text) {
  if (!due()) return;
  next_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(terminal_ ? 200 : 5000);
  print(text, !terminal_);
}

void ProgressLine::show(const std::string& what, std::size_t done, std::size_t of) {
  constexpr std::size_t kWidth = 40;
  if (!due() || of == 0) return;
  const std::size_t filled = std::min(done, of) * kWidth / of;
  show(concat("[", std::string(filled, '='), std::string(kWidth - filled, ' '), "] ",
              done * 100 / of, " % ", what));
}

void ProgressLine::end(const std::string& text) {
  if (on_) print(text, true);
}

void ProgressLine::print(const std::string& text, bool stays) {
  std::fprintf(stream_, "%s%s%s%s", terminal_ ? kClear : "", name_.c_str(), text.c_str(),
               stays ? "\n" : "");
  std::fflush(stream_);
  drawn_ = !stays;
}

}  // namespace aqua::report
