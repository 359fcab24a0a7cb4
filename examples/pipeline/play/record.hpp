// SPDX-License-Identifier: Apache-2.0
// What a run did, in time, for `aqua simulate --calibrate`: docs/plan/pipelines.md has the keys.
#pragma once

#include <vector>

#include "options.hpp"
#include "play/serving.hpp"
#include "play/workload.hpp"
#include "serve/step_log.hpp"

namespace aqua::pipeline {

// Writes options.record. Throws Failure where it cannot.
void write_recording(const Options& options, const std::vector<Request>& requests,
                     const Served& served, const std::vector<LoggedStep>& steps);

}  // namespace aqua::pipeline
