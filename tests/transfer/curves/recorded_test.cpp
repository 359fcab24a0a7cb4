// SPDX-License-Identifier: Apache-2.0
// The planner on machines that were measured: the reports of planner_bench under bench/results hold
// the curves of a machine and what each way took there at sizes that its calibration did not see.
// Today's planner must choose as well by those curves as the goals ask for, or where the planner of
// that day did not, no worse than it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "transfer/calibration/curve_file.hpp"
#include "transfer/planner.hpp"

namespace aqua::transfer {
namespace {

using nlohmann::json;

template <typename Enum, std::size_t kCount>
Enum named(const std::array<Enum, kCount>& all, const std::string& name) {
  const auto found = std::ranges::find_if(all, [&](Enum e) { return to_string(e) == name; });
  if (found == all.end()) throw std::runtime_error("no " + name);
  return *found;
}

// The chosen way's time over the fastest's, as they were measured.
double ratio(const CurveSet& curves, const json& row) {
  WaySet possible;
  std::map<Way, double> took;
  for (const auto& [name, seconds] : row.at("seconds").items()) {
    possible.add(named(kWays, name));
    took[named(kWays, name)] = seconds;
  }
  const Job job{named(kLinks, row.at("link")), named(kDirections, row.at("direction")),
                Pieces(row.at("pieces"), row.at("piece_bytes")), possible};
  const auto fastest = std::ranges::min_element(took, {}, [](const auto& t) { return t.second; });
  return took.at(choose(curves, job).way) / fastest->second;
}

double median(std::vector<double> ratios) {
  std::ranges::sort(ratios);
  return ratios[ratios.size() / 2];
}
double worst(const std::vector<double>& ratios) {
  return *std::ranges::max_element(ratios);
}

class Recorded : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(Recorded, MachinesGetChoicesWithinTheGoalsAtSizesThatCalibrationDidNotSee) {
  const json file = json::parse(std::ifstream(GetParam()));
  const json& report = file.contains("result") ? file.at("result") : file;
  const auto curves = parse_curves(report.at("curves").get<std::string>());
  ASSERT_TRUE(curves.ok()) << curves.error().message;
  std::map<std::string, std::vector<double>> now, then;
  for (const json& row : report.at("rows")) {
    if (!row.at("resolved")) continue;
    now[row.at("link")].push_back(ratio(curves->curves, row));
    then[row.at("link")].push_back(row.at("ratio"));
  }
  EXPECT_GE(now.size(), 2U);
  for (auto& [link, ratios] : now) {
    ASSERT_GE(ratios.size(), 30U) << link;
    EXPECT_LE(median(ratios), std::max(1.03, median(then[link]))) << link;
    EXPECT_LE(worst(ratios), std::max(1.10, worst(then[link]))) << link;
  }
}

std::vector<std::filesystem::path> recordings() {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(AQUA_RESULTS)) {
    const std::string name = entry.path().filename();
    if (name.find("planner") != std::string::npos && name.ends_with(".json"))
      found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

INSTANTIATE_TEST_SUITE_P(Results, Recorded, ::testing::ValuesIn(recordings()),
                         [](const auto& test) {
                           std::string name = test.param.stem();
                           std::ranges::replace_if(
                               name, [](char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace aqua::transfer
