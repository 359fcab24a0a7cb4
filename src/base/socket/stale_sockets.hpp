// SPDX-License-Identifier: Apache-2.0
// Removes the sockets that killed processes left behind in a directory.
#pragma once

#include <string>
#include <string_view>

namespace aqua {

// Removes the Unix sockets in `directory` whose names begin with `prefix`, which are older
// than a minute and which nobody listens on. (A younger one may lie between its bind and its
// listen.) Best effort: what cannot be removed stays.
void remove_stale_sockets(const std::string& directory, std::string_view prefix);

}  // namespace aqua
