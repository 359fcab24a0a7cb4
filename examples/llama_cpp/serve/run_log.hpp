// SPDX-License-Identifier: Apache-2.0
// What a run of llama_serve did, as `aqua simulate --calibrate` reads it (docs/plan/simulation.md).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "aqua/schedule/options.hpp"
#include "aqua/schedule/sharing.hpp"

namespace aqua::llama_example {

// Seconds are since the run began.
struct LoggedRequest {
  double arrival = 0;
  std::uint32_t prompt_tokens = 0, output_tokens = 0;
  double first_token = 0, end = 0;
  std::uint32_t cached_tokens = 0;  // of the prompt, fetched instead of computed
  std::uint32_t told_tokens = 0;    // the most that the scheduler was told of; not in the recording
  std::vector<std::int32_t> answer{};  // its tokens; not in the recording
};
struct LoggedIteration {
  double seconds = 0;
  std::uint64_t tokens = 0, rows = 0, kv_tokens = 0;
  double pairs = 0, batch_kv = 0;
};
struct LoggedCopy {
  double seconds = 0, bytes = 0;
  bool out = false;
};
struct LoggedSwitch {
  double at = 0;
  schedule::Sharing to{};
  std::string why{};  // with the figures at that time
};

struct RunLog {
  std::string engine;
  std::string policy;
  schedule::SchedulerOptions scheduler{};
  double kv_bytes_per_token = 0;
  std::uint32_t kv_step_tokens = 1;
  std::vector<LoggedRequest> requests{};  // by arrival
  std::vector<LoggedIteration> iterations{};
  std::vector<LoggedCopy> copies{};
  std::vector<LoggedSwitch> switches{};  // of how the scheduler shares
};

[[nodiscard]] inline nlohmann::json to_json(const RunLog& log) {
  using nlohmann::json;
  const schedule::SchedulerOptions& o = log.scheduler;
  json all{{"format", "aqua-recording-1"},
           {"engine", log.engine},
           {"policy", log.policy},
           {"kv_bytes_per_token", log.kv_bytes_per_token},
           {"kv_step_tokens", log.kv_step_tokens},
           {"scheduler",
            {{"budget_tokens", o.budget_tokens},
             {"slice_iterations", o.slice_iterations},
             {"min_prefill_tokens", o.min_prefill_tokens},
             {"seconds_per_token", o.seconds_per_token},
             {"block_tokens", o.block_tokens},
             {"device_blocks", o.device_blocks},
             {"max_sequences", o.max_sequences}}},
           {"requests", json::array()},
           {"iterations", json::array()},
           {"copies", json::array()},
           {"switches", json::array()}};
  for (const LoggedRequest& r : log.requests) {
    all["requests"].push_back({r.arrival, r.prompt_tokens, r.output_tokens, r.first_token, r.end});
  }
  for (const LoggedIteration& i : log.iterations) {
    all["iterations"].push_back({i.seconds, i.tokens, i.rows, i.kv_tokens, i.pairs, i.batch_kv});
  }
  for (const LoggedCopy& c : log.copies) {
    all["copies"].push_back({c.seconds, c.bytes, c.out ? 1 : 0});
  }
  for (const LoggedSwitch& s : log.switches) {
    all["switches"].push_back({s.at, to_string(s.to), s.why});
  }
  return all;
}

}  // namespace aqua::llama_example
