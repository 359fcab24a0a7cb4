// SPDX-License-Identifier: Apache-2.0
// Directories that nobody else can put anything into: for sockets and books, since whoever could
// would be taken for their owner.
#pragma once

#include <string>
#include <string_view>

#include "aqua/result.hpp"
#include "base/unique_fd.hpp"

namespace aqua {

// Opens the directory `path`, and creates it (mode 0700, its parent must exist) where there is
// nothing. permission_denied, to root as well, when it belongs to another user, when others may
// write there, and when it is a link, whose maker could turn it round. `what` names it in errors.
[[nodiscard]] Result<UniqueFd> open_own_directory(std::string_view what, std::string path);

// Where this user's sockets and books are unless something else is said: $XDG_RUNTIME_DIR/aqua, or
// else /tmp/aqua-UID.
[[nodiscard]] std::string default_own_directory();

}  // namespace aqua
