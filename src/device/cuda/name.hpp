// SPDX-License-Identifier: Apache-2.0
// Names of GPUs: "cuda:0" counts what this process sees, "GPU-6f1c…" is the same in every one
// ("MIG-6f1c…" for an instance of a partitioned GPU).
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "aqua/result.hpp"
#include "base/ids.hpp"

namespace aqua::device {

using CudaName = std::variant<int, DeviceUuid>;  // the ordinal, or the UUID

// True for names that are meant to be a GPU's, well formed or not.
[[nodiscard]] bool is_cuda_name(std::string_view name) noexcept;
// invalid_argument unless "cuda:N", or "GPU-" or "MIG-" and 8-4-4-4-12 hex digits of either case.
[[nodiscard]] Result<CudaName> parse_cuda_name(std::string_view name);
// As nvidia-smi prints it.
[[nodiscard]] std::string gpu_name(const DeviceUuid& uuid);

}  // namespace aqua::device
