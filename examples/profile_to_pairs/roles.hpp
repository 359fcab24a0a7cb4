// SPDX-License-Identifier: Apache-2.0
// The two kinds of engine. Each runs until told to finish and returns the exit status, or throws
// Failure.
#pragma once

#include "aqua/northbound/profile.hpp"
#include "options.hpp"

namespace aqua::example {

[[nodiscard]] int run_lender(const PlacedOptions& options, const Profile& profile);
[[nodiscard]] int run_borrower(const PlacedOptions& options, const Profile& profile);

}  // namespace aqua::example
