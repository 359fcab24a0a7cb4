// SPDX-License-Identifier: Apache-2.0
#include "tests/device/device_kinds.hpp"

#include <cstdlib>
#include <random>
#include <utility>

#include "device/cuda/device.hpp"
#include "device/memfd/device.hpp"
#include "tests/base/must.hpp"

namespace aqua::device {

using test::must;

const std::vector<std::string>& device_kinds() {
#if defined(AQUA_ONLY_CUDA)
  static const std::vector<std::string> kinds{"cuda"};
#else
  static const std::vector<std::string> kinds{"host", "emulated", "hostile", "cuda"};
#endif
  return kinds;
}

const std::vector<std::string>& memfd_kinds() {
  static const std::vector<std::string> kinds{"host", "emulated", "hostile"};
  return kinds;
}

Result<void> kind_available(const std::string& kind) {
  return kind == "cuda" ? cuda_available() : Result<void>{};
}

std::unique_ptr<Device> open_kind(const std::string& kind, std::size_t total_bytes) {
  if (kind == "host") return must(open_host({.total_bytes = total_bytes}));
  if (kind == "cuda") return must(open_cuda({.total_bytes = total_bytes}));
  if (kind != "emulated" && kind != "hostile") std::abort();
  EmulatedOptions options;
  options.total_bytes = total_bytes;
  options.hostile = kind == "hostile";
  return must(open_emulated(options));
}

Place place_slab(Device& device, std::unique_ptr<Slab> slab) {
  Place place{std::move(slab), nullptr};
  place.range = must(device.reserve(place.slab->bytes()));
  must(device.map(*place.range, 0, *place.slab));
  return place;
}

Place make_place(Device& device, std::size_t bytes) {
  return place_slab(device, must(device.create_slab(bytes)));
}

Result<void> finish(Device& device, Stream stream) {
  const auto event = must(device.create_event());
  must(device.record(*event, stream));
  return device.synchronize(*event);
}

CopyBatch one(std::byte* dst, const std::byte* src, std::size_t bytes) {
  return std::make_shared<const std::vector<CopySegment>>(
      std::vector<CopySegment>{{dst, src, bytes}});
}

std::vector<std::byte> pattern(std::size_t bytes, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> out(bytes);
  for (std::byte& b : out) b = static_cast<std::byte>(random() & 0xff);
  return out;
}

void upload(Device& device, std::byte* dst, const std::vector<std::byte>& bytes) {
  must(device.copy(one(dst, bytes.data(), bytes.size()), Stream{}));
  must(finish(device, Stream{}));
}

std::vector<std::byte> download(Device& device, const std::byte* src, std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  must(device.copy(one(out.data(), src, bytes), Stream{}));
  must(finish(device, Stream{}));
  return out;
}

}  // namespace aqua::device
