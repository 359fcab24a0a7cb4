// SPDX-License-Identifier: Apache-2.0
// aqua calibrate: its command line, and what it shows of recorded curves.
#include "tools/cli/calibrate/calibrate_command.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/transfer/curves/synthetic_link.hpp"
#include "tools/cli/calibrate/curve_report.hpp"

namespace aqua::tool {
namespace {

using Json = nlohmann::json;
using transfer::Direction;
using transfer::Link;
using transfer::Way;

Code code_of(std::vector<std::string_view> arguments) {
  const auto command = parse_calibrate(arguments);
  EXPECT_FALSE(command.ok());
  return command.ok() ? Code::internal : command.error().code;
}

TEST(CalibrateCommand, ReadsItsArguments) {
  const std::vector<std::string_view> arguments{
      "--device", "cuda:1", "--peer", "cuda:2", "--directory", "/tmp/x",
      "--cached", "--json", "--mib",  "256",    "--explain",   "67108864,16384"};
  const auto command = parse_calibrate(arguments);
  ASSERT_TRUE(command.ok()) << command.error().message;
  EXPECT_EQ(command->device, "cuda:1");
  EXPECT_EQ(command->peer, "cuda:2");
  EXPECT_EQ(command->directory, "/tmp/x");
  EXPECT_TRUE(command->cached && command->json && !command->plot);
  EXPECT_EQ(command->mib, 256U);
  EXPECT_EQ(command->explain->bytes, 67108864U);
  EXPECT_EQ(command->explain->block, 16384U);
}

TEST(CalibrateCommand, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(code_of({"--what"}), Code::invalid_argument);
  EXPECT_EQ(code_of({"--device"}), Code::invalid_argument);
  EXPECT_EQ(code_of({"--json", "--plot"}), Code::invalid_argument);
  for (const char* bad :
       {"", "1", "1,", ",1", "1,0", "1,2", "-1,1", "1,1x", "99999999999999999999,1"}) {
    EXPECT_EQ(code_of({"--explain", bad}), Code::invalid_argument) << bad;
  }
  for (const char* bad : {"", "0", "3", "20000", "64m"}) {
    EXPECT_EQ(code_of({"--mib", bad}), Code::invalid_argument) << bad;
  }
}

TEST(CalibrateCommand, AnUnknownDeviceIsAnError) {
  CalibrateCommand command;
  command.device = "gpu";
  command.directory = "off";
  EXPECT_EQ(run_calibrate(command).error().code, Code::invalid_argument);
}

TEST(CalibrateCommand, MeasuresTheLinkToANeighbour) {
  CalibrateCommand command;
  command.device = "emu:0";
  command.directory = "off";
  command.mib = 4;
  command.json = true;
  const auto links_of = [&] {
    std::set<std::string> links;
    const auto text = run_calibrate(command);
    EXPECT_TRUE(text.ok()) << text.error().message;
    if (!text.ok()) return links;
    const Json told = Json::parse(*text);
    for (const Json& link : told["links"]) {
      links.insert(link["link"]);
      EXPECT_GT(link["points"].size(), 0U);
    }
    return links;
  };
  EXPECT_EQ(links_of(), (std::set<std::string>{"local", "host"}));
  command.peer = "emu:1";
  EXPECT_EQ(links_of(), (std::set<std::string>{"local", "host", "peer"}));
}

TEST(CalibrateCommand, ShowsTransfersAsLargeAsTheLargestMeasured) {
  CalibrateCommand command;
  command.directory = "off";
  command.mib = 4;
  command.json = true;
  const auto shown = run_calibrate(command);
  ASSERT_TRUE(shown.ok()) << shown.error().message;
  EXPECT_EQ(Json::parse(*shown).at("bytes"), 4U << 20);
}

CurveReport recorded() {
  std::minstd_rand random(1);
  CurveReport report;
  report.device = "cuda:0";
  report.driver = "CUDA 13.0";
  report.possible = {Way::each, Way::staged};
  for (const Direction direction : transfer::kDirections) {
    report.curves.at(Link::host, direction, Way::each) =
        transfer::Curve::make(test::measure({6e-6, 1.6e-6, 55e9}, 0, random)).value();
    report.curves.at(Link::host, direction, Way::staged) =
        transfer::Curve::make(test::measure({16e-6, 2e-9, 50e9}, 0, random)).value();
  }
  report.curves.set_measured(Link::host);
  return report;
}

TEST(CurveReport, TheTableTellsRatesAndChoices) {
  const std::string table = render_table(recorded());
  EXPECT_NE(table.find("cuda:0, CUDA 13.0"), std::string::npos);
  EXPECT_NE(table.find("host fetch"), std::string::npos);
  EXPECT_EQ(table.find("peer"), std::string::npos) << "was not measured";
  EXPECT_NE(table.find("staged\n"), std::string::npos);
  EXPECT_NE(table.find("each\n"), std::string::npos);
}

TEST(CurveReport, ThePlotHasAMarkForEachWayMeasured) {
  const std::string plot = render_plot(recorded());
  for (const char mark : {'e', 's', '*'}) EXPECT_NE(plot.find(mark), std::string::npos);
}

TEST(CurveReport, JsonHasPointsAndChoices) {
  const Json json = Json::parse(render_json(recorded()));
  ASSERT_EQ(json["links"].size(), 2U);
  const Json& link = json["links"][0];
  EXPECT_EQ(link["link"], "host");
  EXPECT_GT(link["points"].size(), 10U);
  EXPECT_EQ(link["table"][0]["piece_bytes"], 4096);
  EXPECT_EQ(link["table"][0]["choice"], "staged");
  EXPECT_EQ(link["table"].back()["choice"], "each");
}

TEST(CurveReport, ExplainsAsTextAndAsJson) {
  const std::string text = render_explanation(recorded(), 64 << 20, 16 << 10);
  EXPECT_NE(text.find("* staged"), std::string::npos) << text;
  const Json json = Json::parse(render_explanation_json(recorded(), 64 << 20, 16 << 10));
  ASSERT_EQ(json.size(), 2U);
  EXPECT_EQ(json[0]["way"], "staged");
  EXPECT_EQ(json[0]["pieces"], 4096);
  EXPECT_NEAR(json[0]["expected_s"].get<double>(), 16e-6 + 4096 * 2e-9 + (64 << 20) / 50e9, 2e-5);
}

}  // namespace
}  // namespace aqua::tool
