// SPDX-License-Identifier: Apache-2.0
// make_plan decides from the watermarks of all members where each sequence goes on, and who has
// what a rank lacks (DéjàVu 4.2.3). Pure.
#pragma once

#include "groups/types.hpp"

namespace aqua::groups {

// For each role and sequence that any member has reported: a rank can have it up to the highest
// mark that anybody reports of that rank, and the pipeline goes on from the lowest of these, 0
// where of some rank nobody has anything. A rank whose own member has less than that is restored
// from whoever reports most of it; of equals, the lowest client.
[[nodiscard]] Plan make_plan(const Group& group);

}  // namespace aqua::groups
