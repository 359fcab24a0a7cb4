// SPDX-License-Identifier: Apache-2.0
#include "device/memfd/device.hpp"

#include <unistd.h>

#include <system_error>
#include <utility>

#include "base/concat.hpp"
#include "device/boot_uuid.hpp"
#include "device/memfd/closed_arena.hpp"
#include "device/memfd/device_impl.hpp"
#include "device/memfd/limits.hpp"

namespace aqua::device {

MemfdDevice::MemfdDevice(MemfdOptions options)
    : options_(std::move(options)),
      capacity_(std::make_shared<Capacity>(options_.info.total_bytes)),
      links_(std::make_shared<Links>(options_.links)),
      streams_(options_.hostile_seed) {}

namespace {

constexpr const char* kHostName = "host";

Result<std::unique_ptr<Device>> open_memfd(MemfdOptions options) {
  options.info.uuid = boot_uuid(options.info.name);
  options.info.granularity = kGranularity;
  try {
    return std::unique_ptr<Device>(new MemfdDevice(std::move(options)));
  } catch (const std::system_error& error) {
    return Error{Code::resource_exhausted, concat("open device: ", error.what())};
  }
}

}  // namespace

Result<std::unique_ptr<Device>> open_emulated(const EmulatedOptions& options) {
  MemfdOptions memfd;
  memfd.info.kind = Kind::emulated;
  memfd.info.name = concat("emu:", options.ordinal);
  memfd.info.total_bytes = options.total_bytes;
  memfd.closed_addresses = options.hostile;
  if (options.hostile) memfd.hostile_seed = options.seed;
  memfd.links = {options.link_bytes_per_second, options.peer_bytes_per_second == 0
                                                    ? options.link_bytes_per_second
                                                    : options.peer_bytes_per_second};
  return open_memfd(std::move(memfd));
}

Result<std::unique_ptr<Device>> open_host(const HostOptions& options) {
  MemfdOptions memfd;
  memfd.info.kind = Kind::host;
  memfd.info.name = kHostName;
  memfd.info.total_bytes = options.total_bytes;
  memfd.touch_slabs = true;
  if (options.total_bytes == 0) {
    const auto pages = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES));
    const std::size_t quarter = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) / 4;
    memfd.info.total_bytes = quarter / kGranularity * kGranularity;
  }
  return open_memfd(std::move(memfd));
}

DeviceUuid host_uuid() {
  return boot_uuid(kHostName);
}

std::byte* kernel_view(std::byte* device_address) noexcept {
  return closed_view(device_address);
}

const std::byte* kernel_view(const std::byte* device_address) noexcept {
  return closed_view(const_cast<std::byte*>(device_address));
}

Result<void> launch(Device& device, Stream stream, std::function<void()> kernel) {
  if (auto* memfd = dynamic_cast<MemfdDevice*>(&device)) {
    return memfd->launch(stream, std::move(kernel));
  }
  return Error{Code::unimplemented,
               concat("launch: ", device.info().name, " runs no host function as a kernel")};
}

void poison_range(Device& device, const std::byte* address, std::size_t bytes) {
  if (auto* memfd = dynamic_cast<MemfdDevice*>(&device)) memfd->poison(address, bytes);
}

void pretend_silence(Device& device, bool silent) {
  if (auto* memfd = dynamic_cast<MemfdDevice*>(&device)) memfd->fall_silent(silent);
}

void pretend_capture(Device& device, std::optional<Stream> stream) {
  if (auto* memfd = dynamic_cast<MemfdDevice*>(&device)) memfd->capture(stream);
}

}  // namespace aqua::device
