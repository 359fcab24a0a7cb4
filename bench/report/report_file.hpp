// SPDX-License-Identifier: Apache-2.0
// A benchmark's JSON, written anew whenever a measurement is done, so that a kill keeps the rest.
// While "complete" is false more is to come.
//
// Threads: one writer a file.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace aqua::bench {

// An object; each of its "goals" is a line of its own. Pure.
[[nodiscard]] std::string report_text(const nlohmann::json& report);

// Replaces the file by a rename: a reader sees all of one report. No path: nothing to do. Ends the
// program with exit status 1 where that fails.
void write_report(const std::string& path, const nlohmann::json& report);

}  // namespace aqua::bench
