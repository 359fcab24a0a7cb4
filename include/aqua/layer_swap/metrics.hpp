// SPDX-License-Identifier: Apache-2.0
// A LayerPool's status as metrics in Prometheus' text format, for engines to add to what they
// answer at /metrics (beside aqua/northbound/load_metrics.hpp). Header only.
//
// Threads: plain functions.
// Units:   frames, layers, blocks, bytes, seconds, as the names say.
#pragma once

#include <string>
#include <utility>

#include "aqua/layer_swap/layer_pool.hpp"
#include "aqua/northbound/metrics_text.hpp"

namespace aqua {

// LayerPool::status(). Seconds are of the steps of a pool with a goal.
[[nodiscard]] inline std::string to_metrics(const LayerPoolStatus& status) {
  MetricsText metrics;
  metrics.gauge("aqua_engine_layer_frames", status.frames);
  metrics.gauge("aqua_engine_layers_streamed", status.streamed_layers);
  metrics.gauge("aqua_engine_layer_blocks_usable", status.usable_blocks);
  if (status.proposed_frames != 0) {  // with a goal
    metrics.gauge("aqua_engine_layer_frames_proposed", status.proposed_frames);
    metrics.type("aqua_engine_layer_frames_reason", "gauge");
    metrics.sample("reason", status.reason, 1);
  }
  metrics.type("aqua_engine_layer_away_bytes", "gauge");
  metrics.sample("tier", "peer", status.away_peer_bytes);
  metrics.sample("tier", "host", status.away_bytes - status.away_peer_bytes);
  metrics.counter("aqua_engine_layer_steps_total", status.steps);
  metrics.counter("aqua_engine_layer_resizes_total", status.resizes);
  metrics.type("aqua_engine_layer_copied_bytes_total", "counter");
  metrics.sample("way", "in", status.fetched_bytes);
  metrics.sample("way", "out", status.written_bytes);
  metrics.type("aqua_engine_layer_seconds_total", "counter");
  metrics.sample("of", "compute", status.compute_seconds);
  metrics.sample("of", "stall", status.stall_seconds);
  metrics.sample("of", "fetch", status.fetch_seconds);
  metrics.sample("of", "write", status.write_seconds);
  return std::move(metrics).text();
}

}  // namespace aqua
