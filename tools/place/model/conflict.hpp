// SPDX-License-Identifier: Apache-2.0
// Why a cluster cannot hold its models, in words.
//
// Threads: pure functions.
#pragma once

#include <string>

#include "tools/place/model/cluster.hpp"

namespace aqua::place {

// failed_precondition with the conflict, where one is proven: a model larger than every server,
// too few GPUs, too few places for large models, a server too full of fixed models, an
// anti-affinity group larger than the cluster. Success does not prove that a placement exists.
[[nodiscard]] Result<void> check_conflicts(const Cluster& cluster);

}  // namespace aqua::place
