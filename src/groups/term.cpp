// SPDX-License-Identifier: Apache-2.0
#include "groups/term.hpp"

#include "base/concat.hpp"

namespace aqua::groups {

Result<void> check_term(const Stamp& carried, const Stamp& current) {
  if (carried.group != current.group) {
    return Error{Code::permission_denied, concat("term: of group ", to_string(carried.group),
                                                 ", here is ", to_string(current.group))};
  }
  if (carried.term < current.term || carried.term == 0) {
    return Error{Code::aborted, concat("term ", carried.term, " is over, here is ", current.term)};
  }
  if (carried.term > current.term) {
    return Error{Code::unavailable,
                 concat("term ", carried.term, " is not known here yet, only ", current.term)};
  }
  return {};
}

}  // namespace aqua::groups
