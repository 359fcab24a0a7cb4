// SPDX-License-Identifier: Apache-2.0
// Files that a daemon is given, and secrets among them.
//
// Threads: free functions.
// Errors:  not_found or permission_denied as the system says; failed_precondition where it is no
//          regular file, or where the secret is another user's, or others may read or write it.
//          Each names the file.
#pragma once

#include <string>

#include "aqua/result.hpp"
#include "base/unique_fd.hpp"

namespace aqua::tls {

[[nodiscard]] Result<UniqueFd> open_regular(const std::string& path);
// Nobody but its owner may read or write it. Root's may also be read by a group, as files are that
// Kubernetes makes of a Secret for a user (fsGroup): that group is of root's choice.
[[nodiscard]] Result<UniqueFd> open_secret(const std::string& path);

}  // namespace aqua::tls
