// SPDX-License-Identifier: Apache-2.0
#include "report/goal.hpp"

namespace aqua::bench {

bool went_as_asked(const nlohmann::json& ran) {
  return ran.value("unreachable", 0) + ran.value("full", 0) + ran.value("refused", 0) == 0;
}

}  // namespace aqua::bench
