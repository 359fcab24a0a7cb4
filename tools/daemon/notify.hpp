// SPDX-License-Identifier: Apache-2.0
// What a daemon says to systemd, where it was started by systemd (sd_notify(3)), and the
// descriptors that it gets from there (sd_listen_fds(3)).
//
// Threads: free functions; concurrent calls are fine, but take_descriptors().
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "base/unique_fd.hpp"

namespace aqua::daemon {

// Whether there is somebody to notify.
[[nodiscard]] bool has_notify_socket();

// "READY=1", "FDSTORE=1\nFDNAME=x", … to $NOTIFY_SOCKET, with descriptors beside it; nothing where
// there is none. unavailable when it cannot be said within `patience`.
[[nodiscard]] Result<void> notify(std::string_view state, std::span<const int> fds = {},
                                  std::chrono::milliseconds patience = {});

struct NamedDescriptor {
  std::string name;
  UniqueFd fd;
};
// The descriptors that were passed to this process; a second call gets none. Unsets the variables
// that tell of them, so it comes before the first thread.
[[nodiscard]] std::vector<NamedDescriptor> take_descriptors();

}  // namespace aqua::daemon
