// SPDX-License-Identifier: Apache-2.0
// What a real engine did: the requests it was asked, how long each of its iterations and copies
// took. examples/llama_cpp's llama_serve writes it; docs/plan/simulation.md has the keys.
//
//   {"format": "aqua-recording-1", "engine": "llama.cpp ...", "policy": "cfs",
//    "scheduler": {"budget_tokens": 128, "slice_iterations": 16, "min_prefill_tokens": 32,
//                  "block_tokens": 16, "device_blocks": 128, "max_sequences": 0,
//                  "seconds_per_token": 0.1},
//    "kv_bytes_per_token": 23040, "kv_step_tokens": 256,
//    "requests": [[arrival, prompt tokens, output tokens, first token, end], ...],
//    "iterations": [[seconds, tokens, rows, KV tokens, pairs, batch KV], ...],
//    "copies": [[seconds, bytes, 1 out or 0 in], ...],
//    "switches": [[seconds, sharing, why], ...]}
// seconds_per_token may be missing: 0.1; switches, too.
//
// Units: seconds since the run began, bytes. Threads: plain values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "aqua/schedule/options.hpp"
#include "tools/sim/engine/outcome.hpp"
#include "tools/sim/input/workload.hpp"

namespace aqua::sim {

struct RecordedIteration {
  double seconds = 0;
  double tokens = 0;     // computed
  double rows = 0;       // sequences that got a token
  double kv_tokens = 0;  // that its decodes attended to
  double pairs = 0;      // of a prompt's token with one that it attended to
  // KV tokens of all the batch's sequences. An engine with one cache for all goes through them for
  // each token that it computes, if only to pass over another's.
  double batch_kv = 0;
};

struct RecordedCopy {
  double seconds = 0;
  double bytes = 0;
  bool out = false;
};

struct Recording {
  std::string engine;
  std::string policy;
  // Nobody falls back: there is one tier, and its copies stop the engine.
  schedule::SchedulerOptions scheduler{};
  double kv_bytes_per_token = 0;
  std::uint32_t kv_step_tokens = 1;  // that such a cache is gone through in, the last one whole
  std::vector<RequestOutcome> requests{};  // by arrival
  std::vector<RecordedIteration> iterations{};
  std::vector<RecordedCopy> copies{};

  // The same requests, to be simulated.
  [[nodiscard]] Workload workload() const;
  // What was measured, as a simulated run would have it.
  [[nodiscard]] RunOutcome outcome() const;
};

// invalid_argument names what is missing or cannot be.
[[nodiscard]] Result<Recording> parse_recording(std::string_view json);
[[nodiscard]] Result<Recording> load_recording(const std::string& path);

}  // namespace aqua::sim
