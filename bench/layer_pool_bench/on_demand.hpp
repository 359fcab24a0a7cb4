// SPDX-License-Identifier: Apache-2.0
// An engine without prefetch: the same layers stream through the same ring of frames as in a
// LayerPool, but each comes in only when its turn is there, in the stream of the kernels, and what
// was written to it goes back behind them.
#pragma once

#include <vector>

#include "aqua/emulated.hpp"
#include "aqua/layout.hpp"
#include "layer_pool_bench/engine.hpp"

namespace aqua::bench {

class OnDemandEngine final : public Engine {
 public:
  OnDemandEngine(Runtime& runtime, const Shape& shape, std::uint32_t frames);
  ~OnDemandEngine() override { settle(); }

 private:
  struct Layer {
    std::vector<std::byte*> planes{};
    AquaTensor away{};  // empty where the layer stays
  };
  void begin(const Blocks& reads, const Blocks& writes) override;
  std::span<std::byte* const> begin_layer(std::uint32_t layer) override;
  void end_layer(std::uint32_t layer) override;
  void end(const StepLoad& /*load*/) override {}
  [[nodiscard]] Layout layout_of(const Layer& layer) const;

  emulated::Memory frames_;
  std::vector<Layer> layers_;
  Blocks reads_, writes_;  // of the step
};

}  // namespace aqua::bench
