// SPDX-License-Identifier: Apache-2.0
// Kernels that the host runs, when their stream comes to them: in place of kernels/copy.cu,
// over the stand-in's memory.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/copy.hpp"
#include "kernels/walk.hpp"
#include "tests/device/cuda/stand_in/stand_in.hpp"

namespace aqua::kernels {
namespace {

std::uintptr_t number(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

// The list as it is on the device by now.
void run(const CopyLaunch& launch) {
  const auto* driver = stand_in::hooks();
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < launch.count; ++i) {
    const Segment& segment = launch.segments[i];
    if (segment.before != before || !driver->writable(segment.dst, segment.bytes) ||
        !driver->reachable(segment.src, segment.bytes)) {
      return driver->complain("a kernel with a wrong list, or one of what it cannot reach");
    }
    std::memcpy(segment.dst, segment.src, segment.bytes);
    before += segment.bytes;
  }
  if (before != launch.total_bytes) driver->complain("a kernel with a list of another size");
}

void run(const BlockLaunch& launch) {
  const auto* driver = stand_in::hooks();
  const std::uint64_t bytes = launch.blocks.piece_bytes;
  walk(launch.blocks, launch.line, launch.first, launch.count,
       [&](std::byte* dst, const std::byte* src) {
         if (!driver->writable(dst, bytes) || !driver->reachable(src, bytes))
           return driver->complain("a kernel by blocks of what it cannot reach");
         std::memcpy(dst, src, bytes);
       });
}

// Planes and ids are one upload, which is on its way or has come: read where they are now.
stand_in::Extents touches(const BlockLaunch& launch) {
  const auto first_of = [](const BlockSide& side) -> std::uintptr_t {
    return side.planes == nullptr ? UINTPTR_MAX : number(side.planes);
  };
  const std::uintptr_t table = std::min(first_of(launch.blocks.dst), first_of(launch.blocks.src));
  Blocks blocks = launch.blocks;
  if (const void* source = stand_in::hooks()->source_of(reinterpret_cast<const void*>(table))) {
    const auto moved = [&](auto*& entry) {
      if (entry == nullptr) return;
      entry = reinterpret_cast<std::remove_reference_t<decltype(entry)>>(number(entry) - table +
                                                                         number(source));
    };
    for (BlockSide* side : {&blocks.dst, &blocks.src}) {
      moved(side->planes);
      moved(side->ids);
    }
  }
  stand_in::Extents all{{table, table + 1}};
  walk(blocks, launch.line, launch.first, launch.count, [&](std::byte* dst, const std::byte* src) {
    all.emplace_back(number(dst), number(dst) + blocks.piece_bytes);
    all.emplace_back(number(src), number(src) + blocks.piece_bytes);
  });
  return all;
}

// What it will touch by the list that is on its way, or has come.
stand_in::Extents touches(const CopyLaunch& launch) {
  stand_in::Extents all{{number(launch.segments), number(launch.segments + launch.count)}};
  const auto* list = static_cast<const Segment*>(stand_in::hooks()->source_of(launch.segments));
  if (list == nullptr) list = launch.segments;
  for (std::size_t i = 0; i < launch.count; ++i) {
    all.emplace_back(number(list[i].dst), number(list[i].dst + list[i].bytes));
    all.emplace_back(number(list[i].src), number(list[i].src + list[i].bytes));
  }
  return all;
}

}  // namespace

int copy_segments(const CopyLaunch& launch, void* stream) {
  if (launch.max_sms == 0) stand_in::hooks()->complain("a kernel on all SMs");
  return stand_in::hooks()->launch(
      stream, [launch] { run(launch); }, touches(launch));
}

int copy_blocks(const BlockLaunch& launch, void* stream) {
  if (launch.max_sms == 0) stand_in::hooks()->complain("a kernel on all SMs");
  return stand_in::hooks()->launch(
      stream, [launch] { run(launch); }, touches(launch));
}

// The destination is noted first, as by a copy.
int upload(void* dst, const void* src, std::size_t bytes, void* stream) {
  const auto* driver = stand_in::hooks();
  if (number(dst) % 16 != 0 || number(src) % 16 != 0 || bytes % 16 != 0)
    driver->complain("an upload that is not of whole words");
  const auto run = [=] {
    if (!driver->writable(dst, bytes) || !driver->reachable(src, bytes))
      return driver->complain("an upload of what the kernel cannot reach");
    std::memcpy(dst, src, bytes);
  };
  return driver->launch(stream, run,
                        {{number(dst), number(dst) + bytes}, {number(src), number(src) + bytes}});
}

int load_kernels() {
  return 0;
}

}  // namespace aqua::kernels
