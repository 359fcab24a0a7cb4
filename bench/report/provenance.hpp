// SPDX-License-Identifier: Apache-2.0
// Where figures come from: what every report says of its run.
//
// Threads: free functions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace aqua::bench {

// "date" (UTC), "command" (files without their folders) and "commit": what scripts/gpu-build wrote
// beside the program, null where it was built otherwise.
[[nodiscard]] nlohmann::json provenance(int argc, char** argv);

// As the driver calls it ("NVIDIA H200"), for a device that is called "cuda:N"; any other name is
// returned as it is.
[[nodiscard]] std::string gpu_model(const std::string& name);

}  // namespace aqua::bench
