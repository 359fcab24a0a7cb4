// SPDX-License-Identifier: Apache-2.0
// SimServer: LiveEngine behind an OpenAI-compatible endpoint on loopback: completions and chat, as
// events or whole, prompts of texts or ids, answers that tell their ids (as vLLM: return_token_ids,
// /tokenize, /health), and the metrics that vLLM has of its KV cache. An answer follows from the
// ids of its prompt and the seed alone (vocabulary.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tools/sim/report/scenario.hpp"

namespace aqua::tool {

// What it says and does otherwise than it could.
struct SimManners {
  std::uint64_t told_tokens = 0;  // of KV in /metrics; 0: as it is
  std::uint32_t most = 0;         // requests at one time, others get a 503; 0: any number
  bool tells_ids = true;
  std::string model = "simulated";
};

class SimServer {
 public:
  // `ground` outlives it. `port` 0: any that is free.
  SimServer(const sim::Ground& ground, double speed, int port = 0, SimManners manners = {});
  ~SimServer();

  [[nodiscard]] std::string url() const;
  void wait();  // until somebody ends it

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace aqua::tool
