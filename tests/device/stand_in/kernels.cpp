// Kernels that the host runs: in place of kernels/copy.cu, over the stand-in's memory.
#include <cstring>

#include "device/stand_in/stand_in.hpp"
#include "kernels/copy.hpp"

namespace aqua::kernels {
namespace {

constexpr int kIllegalAddress = 700;

}  // namespace

int copy_segments(const CopyLaunch& launch, void*) {
  const auto* driver = stand_in::hooks();
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < launch.count; ++i) {
    const Segment& segment = launch.segments[i];
    if (segment.before != before || !driver->reachable(segment.dst, segment.bytes) ||
        !driver->reachable(segment.src, segment.bytes)) {
      return kIllegalAddress;
    }
    std::memcpy(segment.dst, segment.src, segment.bytes);
    before += segment.bytes;
  }
  return before == launch.total_bytes && launch.max_sms > 0 ? 0 : kIllegalAddress;
}

int scrub(std::byte* dst, std::size_t bytes, void*) {
  std::memset(dst, 0, bytes);
  return 0;
}

int load_kernels() {
  return 0;
}

}  // namespace aqua::kernels
