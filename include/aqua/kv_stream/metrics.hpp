// SPDX-License-Identifier: Apache-2.0
// What a Streamer and a Replicator say of themselves, as metrics in Prometheus' text format, for
// engines to add to what they answer at /metrics. Header only.
//
// Threads: plain functions.
// Units:   sequences, parcels, tokens, packs, bytes, as the names say.
#pragma once

#include <string>
#include <utility>

#include "aqua/kv_stream/replicator.hpp"
#include "aqua/kv_stream/streamer.hpp"
#include "aqua/northbound/metrics_text.hpp"

namespace aqua::kv_stream {

// Streamer::status().
[[nodiscard]] inline std::string to_metrics(const StreamerStatus& status) {
  MetricsText metrics;
  metrics.type("aqua_engine_streams_total", "counter");
  metrics.sample("what", "arrived", status.arrived);
  metrics.sample("what", "cut_off", status.cut_off);
  metrics.counter("aqua_engine_stream_parcels_refused_total", status.refused);
  return std::move(metrics).text();
}

// Replicator::status().
[[nodiscard]] inline std::string to_metrics(const ReplicatorStatus& status) {
  MetricsText metrics;
  metrics.gauge("aqua_engine_replicas_connected", status.connected ? 1 : 0);
  metrics.type("aqua_engine_replica_sequences", "gauge");
  metrics.sample("state", "protected", status.sequences - status.unprotected.size());
  metrics.sample("state", "unprotected", status.unprotected.size());
  metrics.gauge("aqua_engine_replica_lag_tokens", status.most_lag);
  metrics.counter("aqua_engine_replica_steps_unprotected_total", status.steps_unprotected);
  metrics.type("aqua_engine_replica_packs_total", "counter");
  metrics.sample("outcome", "committed", status.packs_committed);
  metrics.sample("outcome", "failed", status.packs_failed);
  metrics.type("aqua_engine_replica_copied_bytes_total", "counter");
  metrics.sample("what", "new", status.copied_bytes - status.rewritten_bytes);
  metrics.sample("what", "rewritten", status.rewritten_bytes);
  metrics.gauge("aqua_engine_replica_kept_bytes", status.kept_bytes);
  return std::move(metrics).text();
}

}  // namespace aqua::kv_stream
