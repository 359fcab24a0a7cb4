// SPDX-License-Identifier: Apache-2.0
// CBC (COIN-OR branch and cut, EPL-2.0) behind MipSolver. Only in builds that found it.
#pragma once

#include <memory>

#include "tools/place/exact/mip.hpp"

namespace aqua::place {

[[nodiscard]] std::unique_ptr<MipSolver> make_cbc();

}  // namespace aqua::place
