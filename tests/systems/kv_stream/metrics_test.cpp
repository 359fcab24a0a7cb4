// SPDX-License-Identifier: Apache-2.0
#include "aqua/kv_stream/metrics.hpp"

#include <gtest/gtest.h>

namespace aqua::kv_stream {
namespace {

TEST(StreamMetrics, TellWhatHasComeAndWhatHasNot) {
  EXPECT_EQ(to_metrics(StreamerStatus{.refused = 1, .arrived = 2, .cut_off = 3}),
            "# TYPE aqua_engine_streams_total counter\n"
            "aqua_engine_streams_total{what=\"arrived\"} 2\n"
            "aqua_engine_streams_total{what=\"cut_off\"} 3\n"
            "# TYPE aqua_engine_stream_parcels_refused_total counter\n"
            "aqua_engine_stream_parcels_refused_total 1\n");
}

TEST(StreamMetrics, TellWhatIsProtected) {
  const ReplicatorStatus status{.connected = false,
                                .sequences = 5,
                                .unprotected = {7, 9},
                                .most_lag = 11,
                                .copied_bytes = 100,
                                .rewritten_bytes = 30,
                                .packs_committed = 4,
                                .packs_failed = 1,
                                .steps_unprotected = 6,
                                .kept_bytes = 80};
  EXPECT_EQ(to_metrics(status),
            "# TYPE aqua_engine_replicas_connected gauge\n"
            "aqua_engine_replicas_connected 0\n"
            "# TYPE aqua_engine_replica_sequences gauge\n"
            "aqua_engine_replica_sequences{state=\"protected\"} 3\n"
            "aqua_engine_replica_sequences{state=\"unprotected\"} 2\n"
            "# TYPE aqua_engine_replica_lag_tokens gauge\n"
            "aqua_engine_replica_lag_tokens 11\n"
            "# TYPE aqua_engine_replica_steps_unprotected_total counter\n"
            "aqua_engine_replica_steps_unprotected_total 6\n"
            "# TYPE aqua_engine_replica_packs_total counter\n"
            "aqua_engine_replica_packs_total{outcome=\"committed\"} 4\n"
            "aqua_engine_replica_packs_total{outcome=\"failed\"} 1\n"
            "# TYPE aqua_engine_replica_copied_bytes_total counter\n"
            "aqua_engine_replica_copied_bytes_total{what=\"new\"} 70\n"
            "aqua_engine_replica_copied_bytes_total{what=\"rewritten\"} 30\n"
            "# TYPE aqua_engine_replica_kept_bytes gauge\n"
            "aqua_engine_replica_kept_bytes 80\n");
}

}  // namespace
}  // namespace aqua::kv_stream
