// SPDX-License-Identifier: Apache-2.0
#include "tests/tensor/stamped_tensor.hpp"

#include "base/try.hpp"

namespace aqua::tensor {
namespace {

std::uint64_t stamp(std::uint64_t name, std::uint64_t version, std::uint64_t word) {
  std::uint64_t x = (name * 0x9e3779b97f4a7c15ULL + version) * 0xbf58476d1ce4e5b9ULL + word;
  x ^= x >> 31;
  return x * 0x94d049bb133111ebULL;
}

// A migration may copy what is being written: it copies it again afterwards. The sanitizer
// is not to mind, so it does not see these stores.
__attribute__((no_sanitize("thread"))) void fill(std::byte* at, std::uint64_t name,
                                                 std::uint64_t version, std::uint64_t first_word) {
  auto* const words = reinterpret_cast<volatile std::uint64_t*>(at);
  for (std::size_t i = 0; i < kBlockWords; ++i) words[i] = stamp(name, version, first_word + i);
}

std::uint64_t wrong_words(const std::byte* at, std::uint64_t name,
                          const std::vector<std::uint64_t>& versions) {
  const auto* word = reinterpret_cast<const std::uint64_t*>(at);
  std::uint64_t wrong = 0;
  for (std::size_t block = 0; block < versions.size(); ++block) {
    for (std::size_t i = 0; i < kBlockWords; ++i, ++word) {
      if (*word != stamp(name, versions[block], block * kBlockWords + i)) ++wrong;
    }
  }
  return wrong;
}

// Keeps `buffer` until what was posted to the stream so far has run.
Result<void> keep(device::Device& device, Stream stream, std::shared_ptr<void> buffer) {
  return device::launch(device, stream, [buffer = std::move(buffer)] {});
}

device::CopyBatch one(std::byte* dst, const std::byte* src, std::size_t bytes) {
  return std::make_shared<const std::vector<device::CopySegment>>(
      std::vector<device::CopySegment>{{dst, src, bytes}});
}

}  // namespace

Result<void> post_stamps(device::Device& device, Slot& slot, Stream stream, std::size_t first,
                         std::size_t count, bool by_copy) {
  AQUA_ASSIGN(const Pin pin,
              slot.tensor.pin(Access::write, stream, {first * kBlockBytes, count * kBlockBytes}));
  const std::uint64_t version = ++slot.last_version;
  for (std::size_t i = 0; i < count; ++i) slot.versions[first + i] = version;
  const auto fill_all = [name = slot.name, version, first, count](std::byte* at) {
    for (std::size_t i = 0; i < count; ++i) {
      fill(at + i * kBlockBytes, name, version, (first + i) * kBlockWords);
    }
  };
  if (!by_copy) {
    return device::launch(device, stream,
                          [fill_all, at = pin.data()] { fill_all(device::kernel_view(at)); });
  }
  const auto buffer = std::make_shared<std::vector<std::byte>>(count * kBlockBytes);
  fill_all(buffer->data());
  AQUA_TRY(device.copy(one(pin.data(), buffer->data(), buffer->size()), stream));
  return keep(device, stream, buffer);
}

Result<Pin> post_check(device::Device& device, Slot& slot, Stream stream, bool by_copy,
                       Mismatches& mismatches) {
  AQUA_ASSIGN(Pin pin, slot.tensor.pin(Access::read, stream));
  const auto check = [name = slot.name, versions = slot.versions, &mismatches](
                         const std::byte* at) { mismatches += wrong_words(at, name, versions); };
  if (!by_copy) {
    AQUA_TRY(device::launch(device, stream,
                            [check, at = pin.data()] { check(device::kernel_view(at)); }));
    return pin;
  }
  const auto buffer = std::make_shared<std::vector<std::byte>>(pin.bytes());
  AQUA_TRY(device.copy(one(buffer->data(), pin.data(), buffer->size()), stream));
  AQUA_TRY(device::launch(device, stream, [check, buffer] { check(buffer->data()); }));
  return pin;
}

}  // namespace aqua::tensor
