// SPDX-License-Identifier: Apache-2.0
// Whether a stream is one of a runtime's device, asked before it is remembered anywhere.
#pragma once

#include "aqua/c/types.h"
#include "aqua/runtime.hpp"

namespace aqua::capi {

// invalid_argument when it is not. A stream that this thread has asked for last costs nothing;
// others a microsecond.
[[nodiscard]] Result<void> check_stream(Runtime& runtime, std::uint64_t runtime_id,
                                        aqua_stream stream);

}  // namespace aqua::capi
