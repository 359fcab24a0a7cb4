// SPDX-License-Identifier: Apache-2.0
// Gather into a staging buffer and copy that in bulk, or copy and scatter: two buffers, so
// that kernel and copy engine work at once.
#pragma once

#include "gpu/measure.hpp"

namespace aqua::bench {

// `list` is a gather into the tensor, or a scatter from it; the tensor is on the host.
[[nodiscard]] CopyTask staged(const BlockList& list, bool gather);

}  // namespace aqua::bench
