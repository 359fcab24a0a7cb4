// SPDX-License-Identifier: Apache-2.0
// RuntimeOptions with every default filled in and every value checked.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "aqua/northbound/profile.hpp"
#include "aqua/runtime.hpp"
#include "device/device.hpp"

namespace aqua::runtime {

// Fills empty fields from the environment and the machine; makes the socket directory.
// invalid_argument names the option.
[[nodiscard]] Result<RuntimeOptions> resolve(RuntimeOptions options);

// The profile that the options name, none where they name none.
[[nodiscard]] Result<std::optional<Profile>> profile_of(const RuntimeOptions& options);
// What it wants of the options (RuntimeOptions::profile).
void apply(const Profile& profile, RuntimeOptions& options);

// For messages: why nothing is borrowed or lent where RuntimeOptions::coordinator is "none".
inline constexpr const char* kNoCoordinator =
    "no coordinator is named (RuntimeOptions::coordinator, $AQUA_COORDINATOR)";

// "emu:N", "cuda:N" or "GPU-UUID". unavailable on a machine without a driver or GPU,
// unimplemented in a build without CUDA.
[[nodiscard]] Result<std::unique_ptr<device::Device>> open_device(const RuntimeOptions& options);

}  // namespace aqua::runtime
