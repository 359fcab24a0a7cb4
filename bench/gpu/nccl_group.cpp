// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <memory>

#include "device/cuda/device.hpp"
#include "gpu/copy_tasks.hpp"
#include "gpu/groups.hpp"
#include "gpu/library.hpp"

namespace aqua::bench {
namespace {

constexpr std::size_t kBlock = std::size_t{64} << 10;  // of the library's, which are scattered

// Where the message goes: another GPU's memory that this one reaches, or this one's.
class Far {
 public:
  explicit Far(std::size_t bytes) : bytes_(bytes) {
    int count = 0, reaches = 0;
    must(cudaGetDeviceCount(&count));
    if (count > 1) must(cudaDeviceCanAccessPeer(&reaches, 0, 1));
    gpu_ = reaches != 0 ? 1 : 0;
    if (gpu_ == 1) must(cudaDeviceEnablePeerAccess(1, 0));
    must(cudaSetDevice(gpu_));
    must(cudaMalloc(&memory_, bytes));
    must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    must(cudaEventCreateWithFlags(&received_, cudaEventDisableTiming));  // of the same GPU
    must(cudaSetDevice(0));
  }
  ~Far() {
    cudaEventDestroy(received_);
    cudaStreamDestroy(stream_);
    cudaFree(memory_);
  }
  Far(const Far&) = delete;
  Far& operator=(const Far&) = delete;
  [[nodiscard]] bool neighbour() const { return gpu_ == 1; }
  [[nodiscard]] cudaStream_t stream() const { return stream_; }
  [[nodiscard]] cudaEvent_t received() const { return received_; }
  [[nodiscard]] std::span<std::byte> area() const {
    return {static_cast<std::byte*>(memory_), bytes_};
  }

 private:
  std::size_t bytes_;
  int gpu_ = 0;
  void* memory_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t received_ = nullptr;
};

// One message; the receiver's stream begins after the sender's and is waited for on it.
CopyTask message(Nccl& nccl, const BlockList& same, const Far& far) {
  const kernels::Segment s = same.segments().front();
  auto posted = std::make_shared<Event>();
  return {
      .name = "nccl",
      .queue =
          [&nccl, &far, s, posted](cudaStream_t stream) {
            posted->record(stream);
            posted->hold(far.stream());
            must(nccl.send(s.src, s.dst, s.bytes, stream, far.neighbour() ? far.stream() : stream));
            must(cudaEventRecord(far.received(), far.stream()));
            must(cudaStreamWaitEvent(stream, far.received(), 0));
          },
      .commands = 5,
      .moves = {&same}};
}

}  // namespace

void measure_nccl(Areas& a, Meter& meter, Nccl& nccl, const Sink& sink) {
  const auto device = must(device::open_cuda({}));
  const Far far(a.bytes);
  const std::array gpus{0, 1};
  must(nccl.join(std::span(gpus).first(far.neighbour() ? 2 : 1)));
  const Library library(*device, far.neighbour() ? transfer::Link::peer : transfer::Link::local,
                        far.area());
  for (std::size_t bytes = std::size_t{1} << 20; bytes <= a.bytes; bytes *= 4) {
    const BlockList same({{far.area().data(), a.tensor_in.data(), bytes}});
    const BlockList list = gather_list(far.area().data(), a.pool_in.data(), bytes, kBlock);
    std::vector<CopyTask> tasks{bulk_copy(same), message(nccl, same, far)};
    const std::vector<CopyTask> of_library = library.tasks(
        {transfer::Direction::offload, a.pool_in.data(), far.area().data(), kBlock, list}, false);
    tasks.insert(tasks.end(), of_library.begin(), of_library.end());
    for (CopyTask& task : tasks) task.cleared = {far.area().first(bytes)};
    sink(rows(meter.compare(tasks), {{"group", "nccl"},
                                     {"direction", far.neighbour() ? "neighbour" : "self"},
                                     {"block_bytes", kBlock},
                                     {"nccl", nccl.version()}}));
  }
}

}  // namespace aqua::bench
