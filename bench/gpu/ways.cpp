#include "gpu/ways.hpp"

#include <memory>
#include <string>

namespace aqua::bench {
namespace {

struct Batch {
  std::vector<void*> dsts;
  std::vector<const void*> srcs;
  std::vector<std::size_t> sizes;
};

}  // namespace

Way bulk_copy(const BlockList& same) {
  const kernels::Segment s = same.segments().front();
  return {.name = "bulk",
          .queue =
              [s](cudaStream_t stream) {
                must(cudaMemcpyAsync(s.dst, s.src, s.bytes, cudaMemcpyDefault, stream));
              },
          .moves = {&same}};
}

Way copy_each(const BlockList& list) {
  return {.name = "each",
          .queue =
              [&list](cudaStream_t stream) {
                for (const kernels::Segment& s : list.segments()) {
                  must(cudaMemcpyAsync(s.dst, s.src, s.bytes, cudaMemcpyDefault, stream));
                }
              },
          .commands = list.segments().size(),
          .moves = {&list}};
}

Way copy_batch(const BlockList& list) {
  auto batch = std::make_shared<Batch>();
  for (const kernels::Segment& s : list.segments()) {
    batch->dsts.push_back(s.dst);
    batch->srcs.push_back(s.src);
    batch->sizes.push_back(s.bytes);
  }
  // The driver makes commands of it, how many is its secret: counted like single copies.
  return {
      .name = "batch",
      .queue =
          [batch](cudaStream_t stream) {
            cudaMemcpyAttributes attributes{};
            attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
            std::size_t first = 0;
            must(cudaMemcpyBatchAsync(batch->dsts.data(), batch->srcs.data(), batch->sizes.data(),
                                      batch->sizes.size(), &attributes, &first, 1, stream));
          },
      .commands = list.segments().size(),
      .moves = {&list}};
}

Way copy_kernel(const BlockList& list, kernels::CopyKernel kernel, unsigned sms) {
  kernels::CopyLaunch launch = list.launch();
  launch.kernel = kernel;
  launch.max_sms = sms;
  const std::string name = kernel == kernels::CopyKernel::bulk ? "kernel bulk" : "kernel vector";
  return {.name = sms == 0 ? name : name + " " + std::to_string(sms) + " SMs",
          .queue = [launch](cudaStream_t stream) { must(kernels::copy_segments(launch, stream)); },
          .moves = {&list}};
}

Way at_once(const Way& a, const Way& b) {
  struct Second {
    Stream stream;
    Event fork, join;
  };
  auto second = std::make_shared<Second>();
  Way way{.name = a.name,
          .queue =
              [a, b, second](cudaStream_t stream) {
                second->fork.record(stream);
                second->fork.hold(second->stream.get());
                a.queue(stream);
                b.queue(second->stream.get());
                second->join.record(second->stream.get());
                second->join.hold(stream);
              },
          .commands = a.commands + b.commands,
          .moves = a.moves,
          .cleared = a.cleared};
  way.moves.insert(way.moves.end(), b.moves.begin(), b.moves.end());
  way.cleared.insert(way.cleared.end(), b.cleared.begin(), b.cleared.end());
  return way;
}

}  // namespace aqua::bench
