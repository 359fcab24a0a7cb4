// SPDX-License-Identifier: Apache-2.0
#include "aqua/layer_swap/metrics.hpp"

#include <gtest/gtest.h>

namespace aqua {
namespace {

TEST(LayerPoolMetrics, WithAGoalTellTheFramesThatAreProposedAndWhy) {
  const std::string text = to_metrics(
      LayerPoolStatus{.frames = 8, .usable_blocks = 96, .proposed_frames = 7, .reason = "wanted"});
  EXPECT_NE(text.find("# TYPE aqua_engine_layer_frames_proposed gauge\n"
                      "aqua_engine_layer_frames_proposed 7\n"
                      "# TYPE aqua_engine_layer_frames_reason gauge\n"
                      "aqua_engine_layer_frames_reason{reason=\"wanted\"} 1\n"),
            std::string::npos)
      << text;
}

TEST(LayerPoolMetrics, TellFramesBytesAndWhereTheTimeWent) {
  const LayerPoolStatus status{.frames = 8,
                               .usable_blocks = 96,
                               .streamed_layers = 6,
                               .steps = 7,
                               .fetched_bytes = 5'000'000'000,
                               .written_bytes = 1,
                               .away_bytes = 30,
                               .away_peer_bytes = 20,
                               .resizes = 2,
                               .compute_seconds = 4,
                               .stall_seconds = 0.25,
                               .fetch_seconds = 3.5,
                               .write_seconds = 0.5};
  EXPECT_EQ(to_metrics(status),
            "# TYPE aqua_engine_layer_frames gauge\n"
            "aqua_engine_layer_frames 8\n"
            "# TYPE aqua_engine_layers_streamed gauge\n"
            "aqua_engine_layers_streamed 6\n"
            "# TYPE aqua_engine_layer_blocks_usable gauge\n"
            "aqua_engine_layer_blocks_usable 96\n"
            "# TYPE aqua_engine_layer_away_bytes gauge\n"
            "aqua_engine_layer_away_bytes{tier=\"peer\"} 20\n"
            "aqua_engine_layer_away_bytes{tier=\"host\"} 10\n"
            "# TYPE aqua_engine_layer_steps_total counter\n"
            "aqua_engine_layer_steps_total 7\n"
            "# TYPE aqua_engine_layer_resizes_total counter\n"
            "aqua_engine_layer_resizes_total 2\n"
            "# TYPE aqua_engine_layer_copied_bytes_total counter\n"
            "aqua_engine_layer_copied_bytes_total{way=\"in\"} 5000000000\n"
            "aqua_engine_layer_copied_bytes_total{way=\"out\"} 1\n"
            "# TYPE aqua_engine_layer_seconds_total counter\n"
            "aqua_engine_layer_seconds_total{of=\"compute\"} 4\n"
            "aqua_engine_layer_seconds_total{of=\"stall\"} 0.25\n"
            "aqua_engine_layer_seconds_total{of=\"fetch\"} 3.5\n"
            "aqua_engine_layer_seconds_total{of=\"write\"} 0.5\n");
}

}  // namespace
}  // namespace aqua
