// SPDX-License-Identifier: Apache-2.0
// What C says of pipelines, as C++ has it.
#pragma once

#include "aqua/c/streamer.h"
#include "aqua/handoff/segment_carrier.hpp"
#include "aqua/kv_stream/streamer.hpp"

namespace aqua::capi {

struct OpenOptions {
  kv_stream::StreamerOptions streamer{};
  SegmentCarrierOptions carrier{};
};

// invalid_argument: a struct or a list that cannot be; what they say is not looked at.
[[nodiscard]] Result<OpenOptions> to_options(const aqua_streamer_options* options);

}  // namespace aqua::capi
