// SPDX-License-Identifier: Apache-2.0
// A LayerPool's status as metrics in Prometheus' text format, for engines to add to what they
// answer at /metrics (beside aqua/northbound/load_metrics.hpp). Header only.
//
// Threads: plain functions.
// Units:   frames, layers, blocks, bytes, seconds, as the names say.
#pragma once

#include <string>
#include <string_view>

#include "aqua/layer_swap/layer_pool.hpp"
#include "aqua/northbound/load_metrics.hpp"

namespace aqua {

// LayerPool::status(). Seconds are of the steps of a pool with a goal.
[[nodiscard]] inline std::string to_metrics(const LayerPoolStatus& status) {
  std::string text;
  const auto type = [&](std::string_view name, std::string_view kind) {
    text.append("# TYPE ").append(name).append(" ").append(kind).append("\n");
  };
  const auto gauge = [&](std::string_view name, auto value) {
    type(name, "gauge");
    detail::add_sample(text, name, "", value);
  };
  const auto counter = [&](std::string_view name, auto value) {
    type(name, "counter");
    detail::add_sample(text, name, "", value);
  };
  gauge("aqua_engine_layer_frames", status.frames);
  gauge("aqua_engine_layers_streamed", status.streamed_layers);
  gauge("aqua_engine_layer_blocks_usable", status.usable_blocks);
  constexpr std::string_view kAway = "aqua_engine_layer_away_bytes";
  type(kAway, "gauge");
  detail::add_sample(text, kAway, "{tier=\"peer\"}", status.away_peer_bytes);
  detail::add_sample(text, kAway, "{tier=\"host\"}", status.away_bytes - status.away_peer_bytes);
  counter("aqua_engine_layer_steps_total", status.steps);
  counter("aqua_engine_layer_resizes_total", status.resizes);
  constexpr std::string_view kCopied = "aqua_engine_layer_copied_bytes_total";
  type(kCopied, "counter");
  detail::add_sample(text, kCopied, "{way=\"in\"}", status.fetched_bytes);
  detail::add_sample(text, kCopied, "{way=\"out\"}", status.written_bytes);
  constexpr std::string_view kSeconds = "aqua_engine_layer_seconds_total";
  type(kSeconds, "counter");
  detail::add_sample(text, kSeconds, "{of=\"compute\"}", status.compute_seconds);
  detail::add_sample(text, kSeconds, "{of=\"stall\"}", status.stall_seconds);
  detail::add_sample(text, kSeconds, "{of=\"fetch\"}", status.fetch_seconds);
  detail::add_sample(text, kSeconds, "{of=\"write\"}", status.write_seconds);
  return text;
}

}  // namespace aqua
