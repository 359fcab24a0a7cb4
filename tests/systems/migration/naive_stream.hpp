// SPDX-License-Identifier: Apache-2.0
// A second implementation of the stream's filter: it keeps all that passed and asks each time.
#pragma once

#include <algorithm>
#include <set>

#include "aqua/migration/stream_filter.hpp"

namespace aqua::migration::test {

class NaiveStream {
 public:
  // As StreamFilter::take(), but for the message; internal stands for no error.
  std::pair<Passes, Code> take(Turn turn, Position first, std::uint64_t count = 1) {
    if (given_.count(turn) == 0 && turn > *given_.rbegin())
      return {Passes::late, Code::permission_denied};
    if (turn != *given_.rbegin()) return {Passes::late, Code::internal};
    for (Position before = 0; before < first; ++before) {
      if (passed_.count(before) == 0) return {Passes::late, Code::aborted};
    }
    std::uint64_t had = 0;
    for (Position at = first; at < first + count; ++at) had += passed_.count(at);
    if (had > 0 && had < count) return {Passes::late, Code::aborted};
    if (had > 0 || first < next()) return {Passes::duplicate, Code::internal};
    for (Position at = first; at < first + count; ++at) passed_.insert(at);
    return {Passes::yes, Code::internal};
  }
  Turn raise() {
    given_.insert(*given_.rbegin() + 1);
    return *given_.rbegin();
  }
  [[nodiscard]] Position next() const { return passed_.size(); }

 private:
  std::set<Turn> given_{1};
  std::set<Position> passed_{};
};

}  // namespace aqua::migration::test
