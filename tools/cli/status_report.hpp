// SPDX-License-Identifier: Apache-2.0
// What `aqua status` shows: who lends what to whom, from the coordinator's state.
#pragma once

#include <string>

#include "wire/state.hpp"

namespace aqua::tool {

// Tables for people: clients with their slabs by state, who lends to whom, holds that only a
// producer tells of, who is refused more and why, open reclaims.
[[nodiscard]] std::string render(const wire::State& state);

// One line a client and pair would lose what scripts want: the same facts as one object.
//   {"clients":[{id,name,device,pid,state,lent_bytes,held_bytes,borrowed_bytes,refused?}],
//    "loans":[{producer,consumer,slabs,bytes,states}], "alleged":[as loans], "reclaims":[...]}
// A state is live, suspect, draining or drained. On several lines, or on one.
[[nodiscard]] std::string render_json(const wire::State& state, bool one_line = false);

}  // namespace aqua::tool
