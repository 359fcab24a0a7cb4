// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <map>
#include <vector>

#include "aqua/emulated.hpp"
#include "gpu_layer_pool_bench/device_work.hpp"
#include "must.hpp"

namespace aqua::bench {
namespace {

class EmulatedWork final : public DeviceWork {
 public:
  explicit EmulatedWork(Runtime& runtime)
      : runtime_(runtime), stream_(must(emulated::create_stream(runtime), "stream")) {}
  ~EmulatedWork() override { must(emulated::destroy_stream(runtime_, stream_), "destroy stream"); }

  [[nodiscard]] aqua::Stream stream() const override { return stream_; }
  void load(const LayerWork& step) override { step_ = std::make_shared<const LayerWork>(step); }
  void launch(std::uint32_t layer, std::span<std::byte* const> planes,
              std::size_t /*block_bytes*/) override {
    const auto kernel = [this, step = step_, layer,
                         at = std::vector<std::byte*>(planes.begin(), planes.end())] {
      wrong_ += run_layer(*step, layer, at);
    };
    must(emulated::launch(runtime_, stream_, kernel), "launch");
  }
  void capture(std::uint32_t layer, std::span<std::byte* const> planes,
               std::size_t block_bytes) override {
    graphs_[layer] = {{planes.begin(), planes.end()}, block_bytes};
  }
  void replay(std::uint32_t layer) override {
    const Graph& graph = graphs_.at(layer);
    launch(layer, graph.planes, graph.block_bytes);
  }
  std::uint64_t settle() override {
    must(emulated::synchronize(runtime_, stream_), "synchronize");
    return wrong_;
  }

 private:
  struct Graph {
    std::vector<std::byte*> planes;
    std::size_t block_bytes;
  };
  Runtime& runtime_;
  const Stream stream_;
  std::shared_ptr<const LayerWork> step_;
  std::map<std::uint32_t, Graph> graphs_;
  std::atomic<std::uint64_t> wrong_ = 0;
};

}  // namespace

std::unique_ptr<DeviceWork> emulated_work(Runtime& runtime) {
  return std::make_unique<EmulatedWork>(runtime);
}

}  // namespace aqua::bench
