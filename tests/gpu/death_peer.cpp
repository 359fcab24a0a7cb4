// SPDX-License-Identifier: Apache-2.0
// What both processes use: the device, its bytes.
#include <random>
#include <utility>

#include "base/try.hpp"
#include "device/cuda/device.hpp"
#include "device/cuda/name.hpp"
#include "device/memfd/device.hpp"
#include "tests/gpu/exporter_death.hpp"

namespace aqua::gpu {
namespace {

Result<void> copy(device::Device& device, std::byte* dst, const std::byte* src, std::size_t bytes) {
  AQUA_ASSIGN(const auto done, device.create_event());
  AQUA_ASSIGN(const Stream stream, device.create_stream());
  auto batch = std::make_shared<const std::vector<device::CopySegment>>(
      std::vector<device::CopySegment>{{dst, src, bytes}});
  auto copied = device.copy(std::move(batch), stream);
  if (copied.ok()) copied = device.record(*done, stream);
  if (copied.ok()) copied = device.synchronize(*done);
  AQUA_TRY(device.destroy_stream(stream));
  return copied;
}

}  // namespace

Result<std::unique_ptr<device::Device>> open(const Question& question) {
  if (device::is_cuda_name(question.device)) return device::open_cuda({.device = question.device});
  return device::open_emulated({.total_bytes = std::size_t{1} << 30});
}

std::vector<std::byte> pattern(std::size_t bytes, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> out(bytes);
  for (std::byte& b : out) b = static_cast<std::byte>(random() & 0xff);
  return out;
}

Result<Mapped> Mapped::make(device::Device& device, const device::Slab& slab) {
  Mapped mapped;
  AQUA_ASSIGN(mapped.range, device.reserve(slab.bytes()));
  AQUA_TRY(device.map(*mapped.range, 0, slab));
  return mapped;
}

Result<void> write(device::Device& device, Mapped& to, const std::vector<std::byte>& bytes) {
  return copy(device, to.range->base(), bytes.data(), bytes.size());
}

Result<std::vector<std::byte>> read(device::Device& device, const Mapped& from) {
  std::vector<std::byte> out(from.range->bytes());
  AQUA_TRY(copy(device, out.data(), from.range->base(), out.size()));
  return out;
}

}  // namespace aqua::gpu
