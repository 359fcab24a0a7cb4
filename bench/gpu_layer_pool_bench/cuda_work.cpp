// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <new>

#include "aqua/side_stream.hpp"
#include "gpu/cuda_objects.hpp"
#include "gpu_layer_pool_bench/kernels.hpp"

namespace aqua::bench {
namespace {

// Invariant: the kernels of a step find it in `step_`, where a copy in stream order put it; the
// page-locked memory that it came from is used again only after the stream has been waited for.
class CudaWork final : public DeviceWork {
 public:
  explicit CudaWork(Runtime& runtime)
      : stream_(must(SideStream::create(runtime), "stream")),
        step_(Where::device, sizeof(DeviceStep)),
        wrong_(Where::device, sizeof(unsigned long long)),
        posted_(Where::host, kSteps * sizeof(DeviceStep)) {
    must(cudaMemset(wrong_.data(), 0, wrong_.bytes()));
  }
  ~CudaWork() override {
    (void)settle();
    for (const auto& [layer, graph] : graphs_) must(cudaGraphExecDestroy(graph));
  }

  [[nodiscard]] aqua::Stream stream() const override { return stream_.stream(); }
  void load(const LayerWork& step) override {
    if (loaded_ == kSteps) (void)settle();
    auto* const to = new (posted_.data() + loaded_++ * sizeof(DeviceStep)) DeviceStep;
    to->step = step.step;
    to->reads = static_cast<std::uint32_t>(step.reads.size());
    to->writes = static_cast<std::uint32_t>(step.writes.size());
    to->spin_nanoseconds = static_cast<std::uint64_t>(step.compute.count());
    std::copy(step.reads.begin(), step.reads.end(), to->read_blocks);
    std::copy(step.stamps.begin(), step.stamps.end(), to->stamps);
    std::copy(step.writes.begin(), step.writes.end(), to->write_blocks);
    must(cudaMemcpyAsync(step_.data(), to, sizeof *to, cudaMemcpyHostToDevice, raw()));
  }
  void launch(std::uint32_t layer, std::span<std::byte* const> planes,
              std::size_t block_bytes) override {
    DeviceLayer at{.planes = {},
                   .plane_count = static_cast<std::uint32_t>(planes.size()),
                   .layer = layer,
                   .block_bytes = block_bytes};
    std::copy(planes.begin(), planes.end(), at.planes);
    must(launch_layer(reinterpret_cast<const DeviceStep*>(step_.data()), at,
                      reinterpret_cast<unsigned long long*>(wrong_.data()), raw()));
  }
  void capture(std::uint32_t layer, std::span<std::byte* const> planes,
               std::size_t block_bytes) override {
    // The runtime's threads make calls of their own meanwhile.
    must(cudaStreamBeginCapture(raw(), cudaStreamCaptureModeThreadLocal));
    launch(layer, planes, block_bytes);
    cudaGraph_t graph = nullptr;
    must(cudaStreamEndCapture(raw(), &graph));
    must(cudaGraphInstantiate(&graphs_[layer], graph, 0));
    must(cudaGraphDestroy(graph));
  }
  void replay(std::uint32_t layer) override { must(cudaGraphLaunch(graphs_.at(layer), raw())); }
  std::uint64_t settle() override {
    must(cudaStreamSynchronize(raw()));
    loaded_ = 0;
    unsigned long long wrong = 0;
    must(cudaMemcpy(&wrong, wrong_.data(), sizeof wrong, cudaMemcpyDeviceToHost));
    return wrong;
  }

 private:
  static constexpr std::size_t kSteps = 64;  // that may be posted ahead
  [[nodiscard]] cudaStream_t raw() const {
    return reinterpret_cast<cudaStream_t>(stream_.stream().native);
  }

  SideStream stream_;
  Buffer step_, wrong_, posted_;
  std::size_t loaded_ = 0;  // steps, since the stream was waited for
  std::map<std::uint32_t, cudaGraphExec_t> graphs_;
};

}  // namespace

std::unique_ptr<DeviceWork> cuda_work(Runtime& runtime) {
  must(cudaSetDevice(0));
  return std::make_unique<CudaWork>(runtime);
}

}  // namespace aqua::bench
