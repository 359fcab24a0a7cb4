// SPDX-License-Identifier: Apache-2.0
#include "gpu/staged.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <span>

namespace aqua::bench {
namespace {

constexpr std::size_t kStagingBytes = std::size_t{16} << 20;

struct Part {
  std::byte* tensor;
  std::size_t bytes;
  std::unique_ptr<BlockList> blocks;  // between the pool and the staging buffer
};

class Pipeline {
 public:
  Pipeline(const BlockList& list, bool gather)
      : gather_(gather),
        staging_{std::make_unique<Buffer>(Where::device, kStagingBytes),
                 std::make_unique<Buffer>(Where::device, kStagingBytes)} {
    const auto& all = list.segments();
    const std::size_t block = all.front().bytes;
    const std::size_t at_once = std::max<std::size_t>(1, kStagingBytes / block);
    for (std::size_t first = 0; first < all.size(); first += at_once) {
      const std::size_t count = std::min(at_once, all.size() - first);
      std::byte* buffer = staging_[parts_.size() % 2]->data();
      std::vector<kernels::Segment> blocks(
          all.begin() + static_cast<std::ptrdiff_t>(first),
          all.begin() + static_cast<std::ptrdiff_t>(first + count));
      for (std::size_t i = 0; i < count; ++i) {
        if (gather) blocks[i].dst = buffer + i * block;
        if (!gather) blocks[i].src = buffer + i * block;
      }
      auto* tensor = gather ? all[first].dst : const_cast<std::byte*>(all[first].src);
      parts_.push_back({tensor, count * block, std::make_unique<BlockList>(std::move(blocks))});
    }
  }

  // Two stages on two streams; `first_` and `second_` of a buffer hold each other.
  void queue(cudaStream_t stream) {
    fork_.record(stream);
    fork_.hold(other_.get());
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const std::size_t buffer = i % 2;
      if (i >= 2) second_[buffer].hold(stream);
      gather_ ? run_kernel(i, stream) : run_copy(i, stream);
      first_[buffer].record(stream);
      first_[buffer].hold(other_.get());
      gather_ ? run_copy(i, other_.get()) : run_kernel(i, other_.get());
      second_[buffer].record(other_.get());
    }
    join_.record(other_.get());
    join_.hold(stream);
  }
  [[nodiscard]] std::size_t commands() const { return parts_.size() * 6; }

 private:
  void run_kernel(std::size_t i, cudaStream_t stream) {
    must(kernels::copy_segments(parts_[i].blocks->launch(), stream));
  }
  void run_copy(std::size_t i, cudaStream_t stream) {
    std::byte* buffer = staging_[i % 2]->data();
    must(cudaMemcpyAsync(gather_ ? parts_[i].tensor : buffer, gather_ ? buffer : parts_[i].tensor,
                         parts_[i].bytes, cudaMemcpyDefault, stream));
  }

  bool gather_;
  std::array<std::unique_ptr<Buffer>, 2> staging_;
  std::vector<Part> parts_;
  Stream other_;
  Event fork_, join_;
  std::array<Event, 2> first_, second_;
};

}  // namespace

CopyTask staged(const BlockList& list, bool gather) {
  auto pipeline = std::make_shared<Pipeline>(list, gather);
  return {.name = "staged",
          .queue = [pipeline](cudaStream_t stream) { pipeline->queue(stream); },
          .commands = pipeline->commands(),
          .moves = {&list}};
}

}  // namespace aqua::bench
