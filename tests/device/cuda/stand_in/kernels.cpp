// SPDX-License-Identifier: Apache-2.0
// Kernels that the host runs, when their stream comes to them: in place of kernels/copy.cu,
// over the stand-in's memory.
#include <cstring>

#include "kernels/copy.hpp"
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

// What it will touch by the list that is on its way.
stand_in::Extents touches(const CopyLaunch& launch) {
  stand_in::Extents all{{number(launch.segments), number(launch.segments + launch.count)}};
  const auto* list = static_cast<const Segment*>(stand_in::hooks()->source_of(launch.segments));
  for (std::size_t i = 0; list != nullptr && i < launch.count; ++i) {
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

int scrub(std::byte* dst, std::size_t bytes, void* stream) {
  return stand_in::hooks()->launch(stream, [dst, bytes] { std::memset(dst, 0, bytes); },
                                   {{number(dst), number(dst + bytes)}});
}

int load_kernels() {
  return 0;
}

}  // namespace aqua::kernels
