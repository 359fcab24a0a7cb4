// SPDX-License-Identifier: Apache-2.0
// LastRefusal is what a member's status quotes: the last request that the keeper refused, until it
// grants one of the same kind; and what is wrong for as long as the member lasts.
//
// Threads: none of its own. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace aqua {

class LastRefusal {
 public:
  using Kind = std::size_t;  // of a request: its index among those that there are

  void refused(Kind kind, std::string why) {
    granted(kind);
    refused_.emplace_back(kind, std::move(why));
  }
  void granted(Kind kind) {
    std::erase_if(refused_, [&](const auto& each) { return each.first == kind; });
  }
  // No answer of the keeper's ends it.
  void lasts(std::string why) {
    lasting_ = std::move(why);
    refused_.clear();
  }
  // Why the last request of this kind was refused. Empty: it was granted, or there was none.
  [[nodiscard]] std::string of(Kind kind) const {
    const auto found = std::ranges::find(refused_, kind, &Refused::first);
    return found == refused_.end() ? std::string() : found->second;
  }
  // Empty: there is nothing.
  [[nodiscard]] const std::string& text() const {
    return refused_.empty() ? lasting_ : refused_.back().second;
  }

 private:
  using Refused = std::pair<Kind, std::string>;
  std::vector<Refused> refused_;  // of each kind the last, in order of time
  std::string lasting_;
};

}  // namespace aqua
