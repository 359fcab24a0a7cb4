// SPDX-License-Identifier: Apache-2.0
#include "aqua/emulated.hpp"

#include "base/concat.hpp"
#include "base/internals.hpp"
#include "base/try.hpp"
#include "device/memfd/device.hpp"
#include "runtime/impl.hpp"

namespace aqua::emulated {
namespace {

device::Device& device_of(Runtime& runtime) {
  return detail::Internals::impl(runtime).device();
}

Result<void> check(Runtime& runtime) {
  if (device_of(runtime).info().kind == device::Kind::emulated) return {};
  return Error{Code::unimplemented,
               concat("device ", device_of(runtime).info().name, " is not emulated")};
}

}  // namespace

struct Memory::Parts {
  std::unique_ptr<device::Slab> slab;
  std::unique_ptr<device::AddressRange> range;
};

Memory::Memory() noexcept = default;
Memory::Memory(Memory&&) noexcept = default;
Memory& Memory::operator=(Memory&&) noexcept = default;
Memory::~Memory() = default;
Memory::Memory(std::unique_ptr<Parts> parts) noexcept : parts_(std::move(parts)) {}
std::byte* Memory::data() const noexcept {
  return parts_ != nullptr ? parts_->range->base() : nullptr;
}
std::size_t Memory::bytes() const noexcept {
  return parts_ != nullptr ? parts_->range->bytes() : 0;
}

Result<Memory> allocate(Runtime& runtime, std::size_t bytes) {
  AQUA_TRY(check(runtime));
  device::Device& device = device_of(runtime);
  const std::size_t unit = device.info().granularity;
  if (bytes == 0 || bytes > device.info().total_bytes) {
    return Error{bytes == 0 ? Code::invalid_argument : Code::resource_exhausted,
                 concat("allocate: ", bytes, " bytes on a device of ", device.info().total_bytes)};
  }
  auto parts = std::make_unique<Memory::Parts>();
  AQUA_ASSIGN(parts->slab, device.create_slab((bytes + unit - 1) / unit * unit));
  AQUA_ASSIGN(parts->range, device.reserve(parts->slab->bytes()));
  AQUA_TRY(device.map(*parts->range, 0, *parts->slab));
  return Memory(std::move(parts));
}

Result<Stream> create_stream(Runtime& runtime) {
  AQUA_TRY(check(runtime));
  return device_of(runtime).create_stream();
}

Result<void> destroy_stream(Runtime& runtime, Stream stream) {
  AQUA_TRY(check(runtime));
  return device_of(runtime).destroy_stream(stream);
}

Result<void> synchronize(Runtime& runtime, Stream stream) {
  AQUA_TRY(check(runtime));
  AQUA_ASSIGN(const auto event, device_of(runtime).create_event());
  AQUA_TRY(device_of(runtime).record(*event, stream));
  return device_of(runtime).synchronize(*event);
}

Result<void> run_after(Runtime& runtime, Stream stream, Stream earlier) {
  AQUA_TRY(check(runtime));
  AQUA_ASSIGN(const auto event, device_of(runtime).create_event());
  AQUA_TRY(device_of(runtime).record(*event, earlier));
  return device_of(runtime).wait_event(stream, *event);
}

Result<void> launch(Runtime& runtime, Stream stream, std::function<void()> kernel) {
  AQUA_TRY(check(runtime));
  return device::launch(device_of(runtime), stream, std::move(kernel));
}

std::byte* kernel_view(std::byte* device_address) noexcept {
  return device::kernel_view(device_address);
}
const std::byte* kernel_view(const std::byte* device_address) noexcept {
  return device::kernel_view(device_address);
}

}  // namespace aqua::emulated
