// SPDX-License-Identifier: Apache-2.0
#include "layer_pool_bench/report.hpp"

#include <cstdio>
#include <utility>

#include "base/concat.hpp"
#include "report/layer_pool_goals.hpp"
#include "report/report_file.hpp"

namespace aqua::bench {

Report::Report(std::string path, nlohmann::json head)
    : path_(std::move(path)), all_(std::move(head)) {
  all_["complete"] = false;
  all_["goals"] = nlohmann::json::array();
  all_["rows"] = nlohmann::json::array();
}

void Report::add(const std::string& line, nlohmann::json row) {
  std::printf("%-10s %s\n", row["part"].get<std::string>().c_str(), line.c_str());
  std::fflush(stdout);
  all_["rows"].push_back(std::move(row));
  all_["goals"] = layer_pool_goals(all_["rows"]);
  write_report(path_, all_);
}

void Report::complete() {
  all_["complete"] = true;
  write_report(path_, all_);
}

std::string decimal(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string spread_of(const nlohmann::json& summary) {
  return concat(decimal(summary["median"]), " (", decimal(summary["min"]), " to ",
                decimal(summary["max"]), ", ", summary["samples"].get<std::size_t>(), " samples)");
}

}  // namespace aqua::bench
