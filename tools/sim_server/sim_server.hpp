// SPDX-License-Identifier: Apache-2.0
// SimServer: LiveEngine behind an OpenAI-compatible endpoint on loopback, with the metrics that
// vLLM has of its KV cache.
#pragma once

#include <memory>
#include <string>

#include "tools/sim/report/scenario.hpp"

namespace aqua::tool {

class SimServer {
 public:
  // `ground` outlives it. `port` 0: any that is free.
  SimServer(const sim::Ground& ground, double speed, int port = 0);
  ~SimServer();

  [[nodiscard]] std::string url() const;
  void wait();  // until somebody ends it

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace aqua::tool
