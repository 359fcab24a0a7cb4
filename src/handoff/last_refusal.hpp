// SPDX-License-Identifier: Apache-2.0
// LastRefusal is what a member's status quotes: the last request that the keeper refused, until it
// grants one of the same kind; and what is wrong for as long as the member lasts.
//
// Threads: none of its own. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

namespace aqua {

class LastRefusal {
 public:
  using Kind = std::size_t;  // of a request: its index among those that there are

  void refused(Kind kind, std::string why) {
    kind_ = kind;
    refused_ = std::move(why);
  }
  void granted(Kind kind) {
    if (kind_ == kind) refused_.clear();
  }
  // No answer of the keeper's ends it.
  void lasts(std::string why) {
    lasting_ = std::move(why);
    refused_.clear();
  }
  // That a request of this kind is refused. Empty: it is not the last that was.
  [[nodiscard]] std::string of(Kind kind) const { return kind_ == kind ? refused_ : std::string(); }
  // Empty: there is nothing.
  [[nodiscard]] const std::string& text() const { return refused_.empty() ? lasting_ : refused_; }

 private:
  Kind kind_ = 0;  // of what was refused
  std::string refused_, lasting_;
};

}  // namespace aqua
