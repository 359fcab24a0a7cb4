// SPDX-License-Identifier: Apache-2.0
// Stage is one process of a pipeline at work: it takes steps from the stage before, computes its
// layers' heads over its own KV cache, and passes them on.
//
// Threads: one. Errors: Failure. The runtime outlives it.
#pragma once

#include <optional>

#include "aqua/emulated.hpp"
#include "options.hpp"
#include "serve/kv_cache.hpp"
#include "serve/orders.hpp"
#include "serve/step.hpp"
#include "serve/wiring.hpp"

namespace aqua::pipeline {

class Stage {
 public:
  // `wiring` is connected. `orders` brings the first stage's steps.
  Stage(Runtime& runtime, const Options& options, Wiring& wiring, Orders& orders);
  ~Stage();  // waits for its kernels
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  // Until there are no more steps.
  void run();

 private:
  [[nodiscard]] std::optional<Step> next();
  void compute(Step& step);
  void compute_layer(unsigned layer, Step& step, BlockList blocks);
  void flip_a_byte(const KvPlanes& planes);
  void pass_on(const Step& step);

  Runtime& runtime_;
  const ModelShape model_;
  const Place place_;
  const Part part_;
  Wiring& wiring_;
  Orders& orders_;
  KvCache cache_;
  Stream stream_;
  bool flip_;  // a byte is still to be damaged
};

}  // namespace aqua::pipeline
