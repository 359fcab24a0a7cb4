// SPDX-License-Identifier: Apache-2.0
// check_term fences what was sent under another membership: whoever has acknowledged a term refuses
// everything that carries an older one. It is what makes it safe to give a rank to another while
// its former member may be alive and merely out of reach.
#pragma once

#include "aqua/result.hpp"
#include "groups/types.hpp"

namespace aqua::groups {

// What a message between members carries.
struct Stamp {
  GroupId group;
  Term term = 0;
  friend bool operator==(const Stamp&, const Stamp&) = default;
};

// Whether a receiver that is in `current` may act on what carries `carried`.
// aborted: an older term, or 0, which none has; nothing may be done with it, ever. unavailable: a
// newer one, of which the receiver has not heard yet; it may be accepted once it has.
// permission_denied: another group's.
[[nodiscard]] Result<void> check_term(const Stamp& carried, const Stamp& current);

}  // namespace aqua::groups
