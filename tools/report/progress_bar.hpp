// SPDX-License-Identifier: Apache-2.0
// A line on stderr that says how far a long command is. Nothing where stderr is no terminal.
#pragma once

#include <string>

namespace aqua::tool {

class ProgressBar {
 public:
  explicit ProgressBar(bool wanted);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Draws when the percentage or the text has changed.
  void show(const std::string& what, std::size_t done, std::size_t of);

 private:
  bool on_;
  std::string drawn_;
};

}  // namespace aqua::tool
