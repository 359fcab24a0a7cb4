// What a real engine did: the requests it was asked, how long each of its iterations and copies
// took. examples/llama_cpp's llama_serve writes it; docs/simulation.md has the keys.
//
//   {"format": "aqua-recording-1", "engine": "llama.cpp ...", "policy": "cfs",
//    "scheduler": {"budget_tokens": 128, "slice_iterations": 16, "min_prefill_tokens": 32,
//                  "block_tokens": 16, "device_blocks": 128, "max_sequences": 0},
//    "kv_bytes_per_token": 23040,
//    "requests": [[arrival, prompt tokens, output tokens, first token, end], ...],
//    "iterations": [[seconds, tokens, rows, KV tokens, pairs, all pairs], ...],
//    "copies": [[seconds, bytes, 1 out or 0 in], ...]}
//
// Units: seconds since the run began, bytes. Threads: plain values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "aqua/policy/options.hpp"
#include "aqua/result.hpp"
#include "sim/outcome.hpp"
#include "sim/workload.hpp"

namespace aqua::sim {

struct RecordedIteration {
  double seconds = 0;
  double tokens = 0;     // computed
  double rows = 0;       // sequences that got a token
  double kv_tokens = 0;  // that its decodes attended to
  double pairs = 0;      // of a prompt's token with one that it attended to
  // Of any token computed with any in the KV of the batch's sequences, its own or another's: an
  // engine with one cache for all looks at each, if only to pass over it.
  double all_pairs = 0;
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
  policy::SchedulerOptions scheduler{};
  double kv_bytes_per_token = 0;
  std::vector<RequestOutcome> requests{};  // by arrival
  std::vector<RecordedIteration> iterations{};
  std::vector<RecordedCopy> copies{};

  // The same requests, to be simulated.
  [[nodiscard]] Workload workload() const;
  // What was measured, as a simulated run would have it.
  [[nodiscard]] Outcome outcome() const;
};

// invalid_argument names what is missing or cannot be.
[[nodiscard]] Result<Recording> parse_recording(std::string_view json);
[[nodiscard]] Result<Recording> load_recording(const std::string& path);

}  // namespace aqua::sim
