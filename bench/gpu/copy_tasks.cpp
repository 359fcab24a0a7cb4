// SPDX-License-Identifier: Apache-2.0
#include "gpu/copy_tasks.hpp"

#include <algorithm>
#include <memory>
#include <string>

namespace aqua::bench {
namespace {

// A call, as src/device/cuda/copy.cpp has it: drivers were seen to crash on tens of thousands.
constexpr std::size_t kMostAtOnce = 4096;

struct Batch {
  std::vector<void*> dsts;
  std::vector<const void*> srcs;
  std::vector<std::size_t> sizes;
};

std::string name_of(const char* what, kernels::CopyKernel kernel, unsigned sms) {
  const std::string name =
      std::string(what) + (kernel == kernels::CopyKernel::bulk ? " bulk" : " vector");
  return sms == 0 ? name : name + " " + std::to_string(sms) + " SMs";
}

}  // namespace

CopyTask bulk_copy(const BlockList& same) {
  const kernels::Segment s = same.segments().front();
  return {.name = "bulk",
          .queue =
              [s](cudaStream_t stream) {
                must(cudaMemcpyAsync(s.dst, s.src, s.bytes, cudaMemcpyDefault, stream));
              },
          .moves = {&same}};
}

CopyTask copy_each(const BlockList& list) {
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

CopyTask copy_batch(const BlockList& list, BatchOrder order) {
  auto batch = std::make_shared<Batch>();
  for (const kernels::Segment& s : list.segments()) {
    batch->dsts.push_back(s.dst);
    batch->srcs.push_back(s.src);
    batch->sizes.push_back(s.bytes);
  }
  // The driver makes commands of it, how many is its secret: counted like single copies.
  return {.name = order == BatchOrder::stream ? "batch" : "batch in any order",
          .queue =
              [batch, order](cudaStream_t stream) {
                cudaMemcpyAttributes attributes{};
                attributes.srcAccessOrder = order == BatchOrder::stream
                                                ? cudaMemcpySrcAccessOrderStream
                                                : cudaMemcpySrcAccessOrderAny;
                std::size_t first = 0;
                for (std::size_t i = 0; i < batch->sizes.size(); i += kMostAtOnce) {
                  const std::size_t count = std::min(kMostAtOnce, batch->sizes.size() - i);
                  must(cudaMemcpyBatchAsync(&batch->dsts[i], &batch->srcs[i], &batch->sizes[i],
                                            count, &attributes, &first, 1, stream));
                }
              },
          .commands = list.segments().size(),
          .moves = {&list}};
}

CopyTask copy_kernel(const BlockList& list, kernels::CopyKernel kernel, unsigned sms) {
  kernels::CopyLaunch launch = list.launch();
  launch.kernel = kernel;
  launch.max_sms = sms;
  return {.name = name_of("kernel", kernel, sms),
          .queue = [launch](cudaStream_t stream) { must(kernels::copy_segments(launch, stream)); },
          .moves = {&list}};
}

CopyTask copy_blocks_kernel(const BlockList& list, kernels::CopyKernel kernel, unsigned sms) {
  kernels::BlockLaunch launch = list.by_blocks().value();
  launch.kernel = kernel;
  launch.max_sms = sms;
  return {.name = name_of("kernel blocks", kernel, sms),
          .queue = [launch](cudaStream_t stream) { must(kernels::copy_blocks(launch, stream)); },
          .moves = {&list}};
}

CopyTask at_once(const CopyTask& a, const CopyTask& b) {
  struct Second {
    Stream stream;
    Event fork, join;
  };
  auto second = std::make_shared<Second>();
  const auto both = [](const std::function<void()>& one, const std::function<void()>& other) {
    return [one, other] {
      if (one) one();
      if (other) other();
    };
  };
  CopyTask task{.name = a.name,
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
                .cleared = a.cleared,
                .prepare = both(a.prepare, b.prepare),
                .finish = both(a.finish, b.finish)};
  if (a.chosen && b.chosen) task.chosen = [a, b] { return a.chosen() + "+" + b.chosen(); };
  task.counts = a.counts;
  task.moves.insert(task.moves.end(), b.moves.begin(), b.moves.end());
  task.cleared.insert(task.cleared.end(), b.cleared.begin(), b.cleared.end());
  return task;
}

}  // namespace aqua::bench
