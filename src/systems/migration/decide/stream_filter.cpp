// SPDX-License-Identifier: Apache-2.0
#include "aqua/migration/stream_filter.hpp"

#include "base/concat.hpp"

namespace aqua::migration {

Result<Passes> StreamFilter::take(Turn turn, Position position) {
  if (turn > turn_) {
    return Error{Code::permission_denied, concat("stream: an event under turn ", turn,
                                                 "; the last that was given is ", turn_)};
  }
  if (turn < turn_) return Passes::late;
  if (position < next_) return Passes::duplicate;
  if (position > next_) {
    return Error{Code::aborted, concat("stream: position ", position, " under turn ", turn, ", ",
                                       next_, " is missing")};
  }
  next_ += 1;
  return Passes::yes;
}

}  // namespace aqua::migration
