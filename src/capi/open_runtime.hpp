// SPDX-License-Identifier: Apache-2.0
// For objects that may outlive their runtime: while it is asked about, it stays open.
#pragma once

#include "capi/objects.hpp"

namespace aqua::capi {

// Nothing when it is closed; unavailable while it is being closed: what belongs to it is in
// motion.
[[nodiscard]] Result<std::optional<RuntimeTable::Use>> keep_open(const char* what,
                                                                 std::uint64_t runtime_id);

}  // namespace aqua::capi
