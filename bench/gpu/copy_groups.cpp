// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "device/cuda/device.hpp"
#include "gpu/copy_tasks.hpp"
#include "gpu/groups.hpp"
#include "gpu/lender_process.hpp"
#include "gpu/library.hpp"
#include "gpu/staged.hpp"

namespace aqua::bench {
namespace {

using kernels::CopyKernel;
using transfer::Direction;
using transfer::Link;
using Area = std::span<std::byte>;

// Memory that blocks are offloaded to and fetched from.
struct Far {
  const char* group;
  Area in, out;
};

// Every way that the device and the library have, but batches and kernels with a list. The first,
// the baseline, writes to another place than the others.
std::vector<CopyTask> tasks_to(const BlockList& bulk, Area bulk_target, const BlockList& list,
                               Area target, bool gather, const std::vector<CopyTask>& of_library) {
  std::vector<CopyTask> tasks{bulk_copy(bulk), copy_each(list), staged(list, gather),
                              copy_blocks_kernel(list, CopyKernel::vector, 0),
                              copy_blocks_kernel(list, CopyKernel::bulk, 0)};
  tasks.insert(tasks.end(), of_library.begin(), of_library.end());
  for (CopyTask& task : tasks) task.cleared = {target};
  tasks.front().cleared = {bulk_target};
  return tasks;
}

void measure_far(Areas& a, const Far& far, const Library& library, Meter& meter, const Sink& sink) {
  const BlockList bulk_out({{far.out.data(), a.tensor_in.data(), a.bytes}});
  const BlockList bulk_in({{a.tensor_out.data(), far.in.data(), a.bytes}});
  for (std::size_t block = 16 << 10; block <= 2 << 20; block *= 2) {
    const BlockList out = gather_list(far.out.data(), a.pool_in.data(), a.bytes, block);
    const BlockList in = scatter_list(a.pool_out.data(), far.in.data(), a.bytes, block);
    const auto offload = [&](bool at_once) {
      return tasks_to(
          bulk_out, far.out, out, far.out, true,
          library.tasks({Direction::offload, a.pool_in.data(), far.out.data(), block, out},
                        at_once));
    };
    const auto fetch = [&](bool at_once) {
      return tasks_to(
          bulk_in, a.tensor_out.area(), in, a.pool_out.area(), false,
          library.tasks({Direction::fetch, a.pool_out.data(), far.in.data(), block, in}, at_once));
    };
    const auto measure = [&](const char* direction, const std::vector<CopyTask>& tasks) {
      sink(rows(meter.compare(tasks),
                {{"group", far.group}, {"direction", direction}, {"block_bytes", block}}));
    };
    measure("offload", offload(false));
    measure("fetch", fetch(false));
    const std::vector<CopyTask> there = offload(true), back = fetch(true);
    std::vector<CopyTask> both;
    for (std::size_t w = 0; w < there.size(); ++w) both.push_back(at_once(there[w], back[w]));
    measure("both", both);
  }
}

}  // namespace

void measure_hbm(Areas& a, Meter& meter, const Sink& sink) {
  const auto device = must(device::open_cuda({}));
  const Library library(*device, Link::local, a.tensor_out.area());
  const BlockList same({{a.tensor_out.data(), a.tensor_in.data(), a.bytes}});
  const auto measure = [&](const char* direction, const Library::Move& move, Area target) {
    std::vector<CopyTask> tasks{bulk_copy(same), copy_kernel(move.list, CopyKernel::vector, 0),
                                copy_kernel(move.list, CopyKernel::bulk, 0),
                                copy_blocks_kernel(move.list, CopyKernel::vector, 0),
                                copy_blocks_kernel(move.list, CopyKernel::bulk, 0)};
    const std::vector<CopyTask> of_library = library.tasks(move, false);
    tasks.insert(tasks.end(), of_library.begin(), of_library.end());
    for (CopyTask& task : tasks) task.cleared = {target};
    tasks.front().cleared = {a.tensor_out.area()};
    sink(rows(meter.compare(tasks),
              {{"group", "hbm"}, {"direction", direction}, {"block_bytes", move.block_bytes}}));
  };
  for (std::size_t block = 4 << 10; block <= 1 << 20; block *= 2) {
    const BlockList gather = gather_list(a.tensor_out.data(), a.pool_in.data(), a.bytes, block);
    const BlockList scatter = scatter_list(a.pool_out.data(), a.tensor_in.data(), a.bytes, block);
    measure("gather", {Direction::offload, a.pool_in.data(), a.tensor_out.data(), block, gather},
            a.tensor_out.area());
    measure("scatter", {Direction::fetch, a.pool_out.data(), a.tensor_in.data(), block, scatter},
            a.pool_out.area());
  }
}

void measure_host(Areas& a, Meter& meter, const Sink& sink) {
  const auto device = must(device::open_cuda({}));
  const Library library(*device, Link::host, a.host_out.area());
  measure_far(a, {"host", a.host_in.area(), a.host_out.area()}, library, meter, sink);
}

void measure_batch(Areas& a, Meter& meter, const Sink& sink) {
  constexpr std::size_t kMostBlocks = 8192;
  const auto device = must(device::open_cuda({}));
  const Library library(*device, Link::host, a.host_out.area());
  for (std::size_t block = 16 << 10; block <= 2 << 20; block *= 2) {
    const std::size_t bytes = std::min(a.bytes, kMostBlocks * block);
    const BlockList bulk_out({{a.host_out.data(), a.tensor_in.data(), bytes}});
    const BlockList bulk_in({{a.tensor_out.data(), a.host_in.data(), bytes}});
    const BlockList out = gather_list(a.host_out.data(), a.pool_in.data(), bytes, block);
    const BlockList in = scatter_list(a.pool_out.data(), a.host_in.data(), bytes, block);
    const auto measure = [&](const char* direction, const BlockList& bulk, Area bulk_target,
                             const Library::Move& move, Area target) {
      std::vector<CopyTask> tasks{bulk_copy(bulk), copy_each(move.list),
                                  copy_batch(move.list, BatchOrder::stream),
                                  copy_batch(move.list, BatchOrder::any)};
      const std::vector<CopyTask> of_library = library.batched(move);
      tasks.insert(tasks.end(), of_library.begin(), of_library.end());
      for (CopyTask& task : tasks) task.cleared = {target};
      tasks.front().cleared = {bulk_target};
      sink(rows(meter.compare(tasks),
                {{"group", "batch"}, {"direction", direction}, {"block_bytes", block}}));
    };
    const Area host = a.host_out.area().first(bytes);
    measure("offload", bulk_out, host,
            {Direction::offload, a.pool_in.data(), a.host_out.data(), block, out}, host);
    measure("fetch", bulk_in, a.tensor_out.area().first(bytes),
            {Direction::fetch, a.pool_out.data(), a.host_in.data(), block, in},
            a.pool_out.area().first(2 * bytes));
  }
}

void measure_slab(Areas& a, Meter& meter, const Sink& sink) {
  const auto device = must(device::open_cuda({}));
  const LenderProcess lender(*device, 2 * a.bytes);
  const Area in(lender.slab(), a.bytes);
  const Area out(lender.slab() + a.bytes, a.bytes);
  const Library library(*device, Link::peer, out);
  must(fill(in.data(), in.size(), 4, nullptr));
  must(cudaDeviceSynchronize());
  measure_far(a, {"slab", in, out}, library, meter, sink);
}

}  // namespace aqua::bench
