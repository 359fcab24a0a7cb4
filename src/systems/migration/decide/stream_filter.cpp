// SPDX-License-Identifier: Apache-2.0
#include "aqua/migration/stream_filter.hpp"

#include <limits>

#include "base/concat.hpp"

namespace aqua::migration {

Result<Passes> StreamFilter::take(Turn turn, Position first, std::uint64_t count) {
  if (turn > turn_) {
    return Error{Code::permission_denied, concat("stream: an event under turn ", turn,
                                                 "; the last that was given is ", turn_)};
  }
  if (turn < turn_) return Passes::late;
  if (first > next_) {
    return Error{Code::aborted, concat("stream: position ", first, " under turn ", turn, ", ",
                                       next_, " is missing")};
  }
  if (first < next_) {
    if (count <= next_ - first) return Passes::duplicate;
    return Error{Code::aborted, concat("stream: ", count, " positions from ", first,
                                       " on under turn ", turn, ", of which some have passed")};
  }
  if (count > std::numeric_limits<Position>::max() - next_) {
    return Error{Code::invalid_argument, concat("stream: ", count, " positions at once")};
  }
  next_ += count;
  return Passes::yes;
}

}  // namespace aqua::migration
