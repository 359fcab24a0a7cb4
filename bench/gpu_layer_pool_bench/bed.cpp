// SPDX-License-Identifier: Apache-2.0
#include "gpu_layer_pool_bench/bed.hpp"

#include <chrono>
#include <numeric>
#include <thread>
#include <utility>

#include "aqua/stream_mark.hpp"
#include "base/concat.hpp"
#include "base/internals.hpp"
#include "base/try.hpp"
#include "must.hpp"
#include "runtime/impl.hpp"
#include "samples.hpp"

namespace aqua::bench {
namespace {

constexpr int kCopies = 9;
constexpr std::chrono::seconds kLockPatience{60};
constexpr std::uint64_t kEmulatedLink = 600'000'000;  // bytes a second

// All that streams, twice: while frames change there is room for those of before and after.
std::size_t host_bytes(const Shape& shape) {
  return 2 * shape.layers * shape.frame_bytes();
}

}  // namespace

Result<Bed> make_bed(const std::string& device, unsigned rounds, bool quick) {
  const bool emulated = device.starts_with("emu");
  // A GPU's layer has 64 MiB, which cross PCIe in about a millisecond.
  const Shape shape{.name = "24 layers",
                    .layers = 24,
                    .planes = 2,
                    .block_bytes = std::size_t{emulated ? 64U : 256U} << 10,
                    .slabs = emulated ? 2U : 16U};
  const std::size_t all = shape.layers * shape.frame_bytes();
  AQUA_ASSIGN(auto opened,
              Runtime::open({.device = device,
                             .coordinator = "none",
                             .host_bytes = host_bytes(shape),
                             .emulated = {.total_bytes = 3 * all,
                                          .link_bytes_per_second =
                                              quick ? 4 * kEmulatedLink : kEmulatedLink}}));
  auto runtime = std::make_unique<Runtime>(std::move(opened));
  auto work = emulated ? emulated_work(*runtime) : cuda_work(*runtime);
  // Copies of memory that is not page-locked yet take longer, and may block their caller.
  const auto deadline = std::chrono::steady_clock::now() + kLockPatience;
  const auto locked = [&] { return detail::Internals::impl(*runtime).pinned_bytes(); };
  while (!emulated && locked() < host_bytes(shape)) {
    if (std::chrono::steady_clock::now() > deadline) {
      return Error{Code::resource_exhausted, concat("bed: ", locked(), " of ", host_bytes(shape),
                                                    " bytes of host memory are page-locked after ",
                                                    kLockPatience.count(), " s")};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return Bed{.runtime = std::move(runtime),
             .work = std::move(work),
             .shape = shape,
             .steps = quick ? 2U : 12U,
             .rounds = quick ? 2U : rounds};
}

double seconds_of_swap(Bed& bed) {
  Shape three = bed.shape;
  three.layers = 3;
  SwapEngine engine(*bed.runtime, *bed.work, three, 3);
  const auto planes = engine.pool().planes(0);
  const Layout layout = must(Layout::make({.layers = 1,
                                           .planes_per_layer = three.planes,
                                           .planes = {planes.begin(), planes.end()},
                                           .block_count = engine.blocks(),
                                           .block_stride = three.block_bytes,
                                           .axes = BlockAxes::whole(three.block_bytes)}),
                             "layout");
  AquaTensor away =
      must(bed.runtime->allocate({.bytes = three.frame_bytes(), .off_device = true}), "allocate");
  BlockNumbers blocks(engine.blocks());
  std::iota(blocks.begin(), blocks.end(), 0U);
  StreamMark begin = must(StreamMark::create(*bed.runtime), "mark");
  StreamMark end = must(StreamMark::create(*bed.runtime), "mark");
  const Stream stream = bed.work->stream();
  std::vector<double> seconds;
  for (int i = 0; i <= kCopies; ++i) {
    must(begin.set(stream), "mark");
    Ticket ticket = must(
        bed.runtime->fetch(away, TensorPages{engine.blocks(), blocks, 0}, layout, blocks, stream),
        "fetch");
    must(end.set(stream), "mark");
    must(ticket.wait(), "copy");
    (void)bed.work->settle();
    const std::chrono::duration<double> took = must(end.since(begin), "mark");
    if (i > 0) seconds.push_back(took.count());
  }
  return median(seconds);
}

}  // namespace aqua::bench
