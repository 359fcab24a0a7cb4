// SPDX-License-Identifier: Apache-2.0
// The planner once more, by brute force: layers are dealt out one by one, KV is counted microbatch
// by microbatch, and every pipeline is played, job by job.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "aqua/kv_stream/plan.hpp"

namespace aqua::kv_stream::test {

// Seconds between microbatches of a pipeline whose `depth` slots go through these rounds together,
// over and over.
double played(std::uint32_t depth, const std::vector<double>& rounds);

// What a pipeline of a split gives, or nothing if a machine has too little memory for it.
std::optional<double> naive_seconds(const PlanInput& in, bool prompts, bool tokens,
                                    std::uint32_t depth, const MicrobatchCost& cost, bool swaps);

// Seconds a request of the best split of each policy that has one.
std::map<Policy, double> naive_plan(const PlanInput& in);

// Random input, of up to 6 machines; about half of it fits.
PlanInput random_input(std::uint64_t seed);

}  // namespace aqua::kv_stream::test
