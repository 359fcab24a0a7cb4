// SPDX-License-Identifier: Apache-2.0
#include "transfer/calibration/far_memory.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "base/try.hpp"
#include "device/memfd/device.hpp"

namespace aqua::transfer {
namespace {

std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

FarMemory::FarMemory(device::Device& device, Link link, std::size_t bytes)
    : device_(device), link_(link), bytes_(bytes) {}

FarMemory::~FarMemory() {
  if (!registered_) return;
  if (auto gone = device_.unregister_host(range_->base(), bytes_); !gone.ok()) {
    std::fprintf(stderr, "aqua: calibrate: %s\n", gone.error().message.c_str());
  }
}

Result<void> FarMemory::map(device::Device& from, device::Device& to) {
  AQUA_ASSIGN(slab_, from.create_slab(bytes_));
  const device::Slab* mapped = slab_.get();
  if (&from != &to) {
    AQUA_ASSIGN(UniqueFd fd, from.export_slab(*slab_));
    AQUA_ASSIGN(imported_, to.import_slab(std::move(fd), bytes_));
    mapped = imported_.get();
  }
  AQUA_ASSIGN(range_, to.reserve(bytes_));
  return to.map(*range_, 0, *mapped);
}

Result<std::unique_ptr<FarMemory>> FarMemory::local(device::Device& device, std::size_t bytes) {
  std::unique_ptr<FarMemory> far(
      new FarMemory(device, Link::local, round_up(bytes, device.info().granularity)));
  AQUA_TRY(far->map(device, device));
  return far;
}

Result<std::unique_ptr<FarMemory>> FarMemory::peer(device::Device& device,
                                                   device::Device& neighbour, std::size_t bytes) {
  std::unique_ptr<FarMemory> far(
      new FarMemory(device, Link::peer, round_up(bytes, neighbour.info().granularity)));
  AQUA_TRY(far->map(neighbour, device));
  return far;
}

Result<std::unique_ptr<FarMemory>> FarMemory::host(device::Device& device, std::size_t bytes) {
  AQUA_ASSIGN(auto host, device::open_host({.total_bytes = 2 * bytes}));
  std::unique_ptr<FarMemory> far(
      new FarMemory(device, Link::host, round_up(bytes, host->info().granularity)));
  far->host_ = std::move(host);
  AQUA_TRY(far->map(*far->host_, *far->host_));
  AQUA_TRY(device.register_host(far->range_->base(), far->bytes_));
  far->registered_ = true;
  return far;
}

std::size_t calibration_bytes(const device::Device& device, Link link, std::size_t bytes) {
  return link == Link::local ? std::max(bytes, 4 * device.info().cache_bytes) : bytes;
}

Result<CurveSet> calibrate_links(device::Device& device, device::Device* neighbour,
                                 const CalibrationOptions& options, std::size_t bytes) {
  std::vector<std::unique_ptr<FarMemory>> far;
  AQUA_ASSIGN(far.emplace_back(),
              FarMemory::local(device, calibration_bytes(device, Link::local, bytes)));
  AQUA_ASSIGN(far.emplace_back(), FarMemory::host(device, bytes));
  if (neighbour != nullptr) {
    const bool same = neighbour->info().uuid == device.info().uuid;  // of two processes, then
    const std::size_t theirs = calibration_bytes(device, same ? Link::local : Link::peer, bytes);
    AQUA_ASSIGN(far.emplace_back(), FarMemory::peer(device, *neighbour, theirs));
  }
  std::vector<LinkMemory> links;
  links.reserve(far.size());
  for (const auto& memory : far) links.push_back(memory->link());
  return calibrate(device, links, options);
}

}  // namespace aqua::transfer
