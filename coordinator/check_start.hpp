// SPDX-License-Identifier: Apache-2.0
// Whether a daemon could start, found out without starting one.
#pragma once

#include "coordinator/options.hpp"

namespace aqua::coordinator {

// What Daemon::start() would answer to this user about the files, directories and addresses that
// these options name. Changes nothing, and does not mind a daemon that runs already. Not looked
// at: whether the ledger in the data directory can be read.
[[nodiscard]] Result<void> check_start(const Options& options);

}  // namespace aqua::coordinator
