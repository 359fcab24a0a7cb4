// SPDX-License-Identifier: Apache-2.0
// EngineServer is the engine's HTTP server.
//
//   POST /v1/completions   as vLLM's, with token ids; `aqua` names the attempt (speech/asked.hpp)
//   POST /aqua/v1/orders   the router's, about attempts (speech/orders.hpp); 404: none of this name
//   GET  /aqua/v1/pool     {"pool", "role", "away", "why"}: engines of one pool hand KV over to
//                          each other's roles, while its keeper is not away; why it could not be
//                          joined again yet. 404 where it has no pool
//   POST /tokenize, GET /health, /v1/models, /metrics
//
// Threads: its own. Errors: Failure where it cannot listen.
#pragma once

#include <memory>

#include "options.hpp"
#include "serve/engine.hpp"

namespace aqua::fleet {

class EngineServer {
 public:
  // All outlive it.
  EngineServer(Engine& engine, const Model& model, const Options& options);
  ~EngineServer();
  [[nodiscard]] int port() const;
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace aqua::fleet
