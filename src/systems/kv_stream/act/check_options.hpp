// SPDX-License-Identifier: Apache-2.0
// What a MicrobatchSwap cannot be made of.
#pragma once

#include "aqua/kv_stream/microbatch_swap.hpp"

namespace aqua::kv_stream {

// invalid_argument names the option and what it may be.
[[nodiscard]] Result<void> check(const MicrobatchSwapOptions& options);

}  // namespace aqua::kv_stream
