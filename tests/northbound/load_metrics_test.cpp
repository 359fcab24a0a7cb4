// SPDX-License-Identifier: Apache-2.0
#include "aqua/northbound/load_metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace aqua {
namespace {

using std::chrono::microseconds;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(LoadMetrics, TellEveryFieldOfAReport) {
  const LoadReport report{.requests_per_second = 2.5,
                          .queue_length = 3,
                          .kv_bytes_used = 1'000'000'000'000,
                          .kv_bytes_wanted = 1'500'000'000'000,
                          .time_to_first_token = {microseconds(250'000), microseconds(1'500'000)},
                          .time_per_output_token = {microseconds(20'000), microseconds(90'000)}};
  EXPECT_EQ(to_metrics(report, 2'000'000'000'000),
            "# TYPE aqua_engine_requests_per_second gauge\n"
            "aqua_engine_requests_per_second 2.5\n"
            "# TYPE aqua_engine_queue_length gauge\n"
            "aqua_engine_queue_length 3\n"
            "# TYPE aqua_engine_kv_bytes_used gauge\n"
            "aqua_engine_kv_bytes_used 1000000000000\n"
            "# TYPE aqua_engine_kv_bytes_wanted gauge\n"
            "aqua_engine_kv_bytes_wanted 1500000000000\n"
            "# TYPE aqua_engine_kv_bytes_total gauge\n"
            "aqua_engine_kv_bytes_total 2000000000000\n"
            "# TYPE aqua_engine_time_to_first_token_seconds gauge\n"
            "aqua_engine_time_to_first_token_seconds{quantile=\"0.5\"} 0.25\n"
            "aqua_engine_time_to_first_token_seconds{quantile=\"0.99\"} 1.5\n"
            "# TYPE aqua_engine_time_per_output_token_seconds gauge\n"
            "aqua_engine_time_per_output_token_seconds{quantile=\"0.5\"} 0.02\n"
            "aqua_engine_time_per_output_token_seconds{quantile=\"0.99\"} 0.09\n");
}

TEST(LoadMetrics, LeaveOutLatenciesThatWereNotMeasured) {
  EXPECT_THAT(to_metrics({}, 1), Not(HasSubstr("token")));
}

TEST(CopyMetrics, TellWhatRanAndWhyNot) {
  const CopyStatus copies{.kernel = 1,
                          .batched = 2,
                          .each = 3,
                          .unsupported = 4,
                          .unreachable = 5,
                          .full = 6,
                          .refused = 18'446'744'073'709'551'615U};
  EXPECT_EQ(to_metrics(copies),
            "# TYPE aqua_engine_copies_total counter\n"
            "aqua_engine_copies_total{way=\"kernel\"} 1\n"
            "aqua_engine_copies_total{way=\"batched\"} 2\n"
            "aqua_engine_copies_total{way=\"each\"} 3\n"
            "# TYPE aqua_engine_copies_passed_over_total counter\n"
            "aqua_engine_copies_passed_over_total{why=\"unsupported\"} 4\n"
            "aqua_engine_copies_passed_over_total{why=\"unreachable\"} 5\n"
            "aqua_engine_copies_passed_over_total{why=\"full\"} 6\n"
            "aqua_engine_copies_passed_over_total{why=\"refused\"} 18446744073709551615\n");
}

}  // namespace
}  // namespace aqua
