// SPDX-License-Identifier: Apache-2.0
#include "aqua/schedule/metrics.hpp"

#include <gtest/gtest.h>

namespace aqua::schedule::test {
namespace {

TEST(ScheduleMetrics, TellWhoIsWhereAndEachSwitchOfSharing) {
  const SchedulerStatus status{.waiting = 1,
                               .resident = 2,
                               .paging_out = 3,
                               .swapped = 4,
                               .paging_in = 5,
                               .sharing = Sharing::partial,
                               .switched_to = {0, 6, 7, 8, 9},
                               .paced = 10,
                               .backlog = 18'446'744'073'709'551'615U,
                               .asked_per_second = 12.5,
                               .sustained_per_second = 40};
  EXPECT_EQ(to_metrics(status),
            "# TYPE aqua_engine_sequences gauge\n"
            "aqua_engine_sequences{state=\"waiting\"} 1\n"
            "aqua_engine_sequences{state=\"resident\"} 2\n"
            "aqua_engine_sequences{state=\"paging_out\"} 3\n"
            "aqua_engine_sequences{state=\"swapped\"} 4\n"
            "aqua_engine_sequences{state=\"paging_in\"} 5\n"
            "# TYPE aqua_engine_sharing gauge\n"
            "aqua_engine_sharing{sharing=\"fixed\"} 0\n"
            "aqua_engine_sharing{sharing=\"whole\"} 0\n"
            "aqua_engine_sharing{sharing=\"fair\"} 0\n"
            "aqua_engine_sharing{sharing=\"partial\"} 1\n"
            "aqua_engine_sharing{sharing=\"none\"} 0\n"
            "# TYPE aqua_engine_sharing_switches_total counter\n"
            "aqua_engine_sharing_switches_total{to=\"fixed\"} 0\n"
            "aqua_engine_sharing_switches_total{to=\"whole\"} 6\n"
            "aqua_engine_sharing_switches_total{to=\"fair\"} 7\n"
            "aqua_engine_sharing_switches_total{to=\"partial\"} 8\n"
            "aqua_engine_sharing_switches_total{to=\"none\"} 9\n"
            "# TYPE aqua_engine_answers gauge\n"
            "aqua_engine_answers{kept=\"paced\"} 10\n"
            "aqua_engine_answers{kept=\"backlog\"} 18446744073709551615\n"
            "# TYPE aqua_engine_paced_tokens_per_second gauge\n"
            "aqua_engine_paced_tokens_per_second{tokens=\"asked\"} 12.5\n"
            "aqua_engine_paced_tokens_per_second{tokens=\"sustained\"} 40\n");
}

}  // namespace
}  // namespace aqua::schedule::test
