// SPDX-License-Identifier: Apache-2.0
#include "reclaim_bench/parts.hpp"

#include <chrono>
#include <memory>

#include "base/try.hpp"
#include "harness.hpp"
#include "runtime/options.hpp"
#include "transfer/calibration/far_memory.hpp"

namespace aqua::bench {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

}  // namespace

Result<Parts> measure_parts(const ReclaimOptions& options) {
  const std::size_t bytes = options.bytes();
  AQUA_ASSIGN(const auto gpu,
              runtime::open_device({.device = options.emulated() ? "emu:9" : options.device,
                                    .emulated = {.total_bytes = bytes}}));
  const auto host = must(transfer::FarMemory::host(*gpu, bytes), "host");
  const auto range = must(gpu->reserve(bytes), "reserve");
  std::vector<std::unique_ptr<device::Slab>> slabs;
  for (std::size_t offset = 0; offset < bytes; offset += kSlabBytes) {
    slabs.push_back(must(gpu->create_slab(kSlabBytes), "slab"));
    must(gpu->map(*range, offset, *slabs.back()), "map");
  }
  using Segments = std::vector<device::CopySegment>;
  const auto all = std::make_shared<const Segments>(
      Segments{{.dst = host->link().base, .src = range->base(), .bytes = bytes}});
  const auto timed = [&](auto&& work) {
    const auto start = Clock::now();
    work();
    must(gpu->synchronize(Stream{}), "synchronize");
    return ms_since(start);
  };
  Parts parts;
  parts.device = gpu->info().name;
  parts.driver = gpu->info().driver;
  for (unsigned round = 0; round <= options.rounds; ++round) {  // the first one warms up
    const double scrub = timed([&] { must(gpu->scrub(range->base(), bytes, Stream{}), "scrub"); });
    const double copy = timed([&] { must(gpu->copy(all, Stream{}), "copy"); });
    const double unmap = timed([&] {
      for (std::size_t offset = 0; offset < bytes; offset += kSlabBytes)
        must(gpu->unmap(*range, offset, kSlabBytes), "unmap");
    });
    for (std::size_t i = 0; i < slabs.size(); ++i)
      must(gpu->map(*range, i * kSlabBytes, *slabs[i]), "map");
    if (round == 0) continue;
    parts.scrub.push_back(scrub);
    parts.copy.push_back(copy);
    parts.unmap.push_back(unmap);
  }
  return parts;
}

}  // namespace aqua::bench
