// SPDX-License-Identifier: Apache-2.0
// Every way to make pipelines of up to D machines.
#pragma once

#include <vector>

#include "aqua/kv_stream/plan.hpp"

namespace aqua::kv_stream {

// By policy, then by shape. Both sides of a split have their best microbatches: the time of one
// does not depend on the other's.
[[nodiscard]] std::vector<Split> every_split(const PlanInput& input);

// Inverse throughput of all pipelines of a side together; 0 if there are none.
[[nodiscard]] double seconds_per_request(const Side& side);

// Whether `a` is to be taken rather than `b`: it fits, takes less time, uses fewer machines. Of two
// that do not fit, the one that needs less memory.
[[nodiscard]] bool preferred(const Split& a, const Split& b);

}  // namespace aqua::kv_stream
