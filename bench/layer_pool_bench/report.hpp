// SPDX-License-Identifier: Apache-2.0
// layer_pool_bench's report: rows in the order in which they were measured, and what they are held
// to. Each row is printed, and the file written anew.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace aqua::bench {

class Report {
 public:
  // `head`: what the report says of the run.
  Report(std::string path, nlohmann::json head);
  // Says `line`, for people, of a row.
  void add(const std::string& line, nlohmann::json row);
  void complete();
  [[nodiscard]] const nlohmann::json& json() const { return all_; }

 private:
  const std::string path_;
  nlohmann::json all_;
};

// For lines of people: with so many digits behind the point.
[[nodiscard]] std::string decimal(double value, int digits = 3);
// "M (A to B, N samples)" of a summary().
[[nodiscard]] std::string spread_of(const nlohmann::json& summary);

}  // namespace aqua::bench
