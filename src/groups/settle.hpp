// SPDX-License-Identifier: Apache-2.0
// What follows in a group from a change of its members. Pure; inside this room only.
#pragma once

#include "groups/types.hpp"

namespace aqua::groups {

// A rank has lost its member: the next term begins, of which nobody has acknowledged anything.
void begin_term(Group& group);

// Seats standbys in empty ranks, except while the group forms, and brings `state` up to date with
// who is there and who has acknowledged and resumed; makes the plan when the last one has.
void settle(Group& group);

}  // namespace aqua::groups
