// SPDX-License-Identifier: Apache-2.0
// A report as it lies in its file.
#include "report/report_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "report/goal.hpp"

namespace aqua::bench {
namespace {

using nlohmann::json;

TEST(ReportText, HasEachGoalOnALineOfItsOwn) {
  json report{{"complete", true}, {"results", json::array({{{"a", 1}}})}};
  report["goals"] = json::array(
      {judge("one", Bound::at_least, 0.5, 1), judge("two", Bound::at_most, 2, std::nullopt)});
  const std::string text = report_text(report);
  EXPECT_NE(text.find("\n  {\"goal\":\"one\",\"limit\":0.5,\"measured\":1.0,\"met\":true},\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\n  {\"goal\":\"two\",\"limit\":2.0,\"measured\":null,\"met\":false}\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(json::parse(text), report);
}

TEST(ReportText, IsJsonWithoutGoalsToo) {
  const json report{{"goals", json::array()}, {"rows", json::array()}};
  EXPECT_EQ(json::parse(report_text(report)), report);
}

TEST(WriteReport, ReplacesTheFileAndLeavesNothingBeside) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / "aqua-report-file-test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  const std::string path = folder / "r.json";
  write_report(path, {{"complete", false}});
  write_report(path, {{"complete", true}});
  std::stringstream seen;
  seen << std::ifstream(path).rdbuf();
  EXPECT_EQ(json::parse(seen.str()), json({{"complete", true}}));
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace aqua::bench
