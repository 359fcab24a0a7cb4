// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/cost/link_fit.hpp"

#include "base/read_file.hpp"
#include "tests/tools/sim/ground.hpp"
#include "tools/report/text.hpp"

namespace aqua::sim::test {
namespace {

TEST(LinkFit, FindsTheLineThatMadeThePoints) {
  std::vector<MeasuredTransfer> points;
  for (double bytes = 1e3; bytes < 1e9; bytes *= 2) points.push_back({bytes, 7e-6 + bytes / 355e9});
  const LinkFit fit = must(fit_link(points));
  EXPECT_NEAR(fit.latency_s, 7e-6, 1e-10);
  EXPECT_NEAR(fit.bytes_per_second / 355e9, 1, 1e-6);
  EXPECT_LT(fit.p90_error, 1e-6);
  EXPECT_EQ(fit.fitted + fit.checked, points.size());
}

TEST(LinkFit, RefusesTooFewAndThoseThatDoNotGrow) {
  EXPECT_EQ(fit_link({{1, 1}, {2, 2}, {3, 3}}).error().code, Code::failed_precondition);
  EXPECT_EQ(fit_link({{1, 4}, {2, 3}, {3, 2}, {4, 1}}).error().code, Code::failed_precondition);
}

TEST(LinkFit, NamesTheLineAndColumnOfBadInput) {
  const auto read = read_send_recv(
      "time_stats.send_recv.median,size,devices_per_node\n0.1,2048,2\n0.1,many,2\n", 2);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Code::invalid_argument);
  EXPECT_NE(read.error().message.find("line 3"), std::string::npos) << read.error().message;
  EXPECT_NE(read.error().message.find("size"), std::string::npos) << read.error().message;
}

// The model of the measured link against transfers that it was not fitted to.
TEST(LinkFit, H100NvlinkIsPredictedWhereItWasNotFitted) {
  const auto path = data("profiles/network/h100_dgx_send_recv.csv");
  if (path.empty()) GTEST_SKIP() << "AQUA_DATA is not set";
  const std::string text = must(read_file(path));
  const LinkFit nvlink = must(fit_link(must(read_send_recv(text, 2))));
  EXPECT_GT(nvlink.checked, 400u);
  EXPECT_GT(nvlink.bytes_per_second, 300e9);
  EXPECT_LT(nvlink.bytes_per_second, 450e9);
  EXPECT_LT(nvlink.mean_error, 0.06);
  EXPECT_LT(nvlink.p90_error, 0.12);
}

}  // namespace
}  // namespace aqua::sim::test
