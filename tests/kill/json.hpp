// SPDX-License-Identifier: Apache-2.0
// The language of the pipes between the orchestrator and its nodes.
#pragma once

#include <nlohmann/json.hpp>

namespace aqua::kill_test {
using Json = nlohmann::json;
}  // namespace aqua::kill_test
