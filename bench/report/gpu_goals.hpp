// SPDX-License-Identifier: Apache-2.0
// From gpu_bench's rows to its goals. Pure.
//
// A ratio is the worst over the sizes that the goal names. The library's are judged by the fastest
// of its ways at each size ("library each", "library staged" and so on) and by the one that it
// takes by itself ("library"); with the host's posting in the time, which holds for all ways alike,
// and, over one bulk copy, queued ahead of the gate, where the host's work hides behind the
// engine's. A copy per block has more commands than can be queued ahead, so it is compared with
// posting alone. Kernels alone, by numbers of blocks that the device has already, are judged queued
// ahead. A size that is missing, or of which less than 1 GiB was moved, leaves the goal unmeasured;
// so does one whose rows ran otherwise than asked ("ran"). A group that did not run has no goals.
#pragma once

#include <nlohmann/json.hpp>

namespace aqua::bench {

[[nodiscard]] nlohmann::json gpu_goals(const nlohmann::json& rows);

}  // namespace aqua::bench
