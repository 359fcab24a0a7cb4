#include "runtime/host_tier.hpp"

#include <algorithm>

#include "base/try.hpp"
#include "device/memfd_device.hpp"

namespace aqua::runtime {
namespace {

constexpr std::size_t kHostSlabBytes = std::size_t{64}
                                       << 20;  // touched, and one day registered, a piece at a time

std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

Result<std::unique_ptr<HostTier>> HostTier::open(std::size_t bytes) {
  std::unique_ptr<HostTier> tier(new HostTier);
  AQUA_ASSIGN(tier->device_, device::open_host({.total_bytes = bytes + kHostSlabBytes}));
  const std::size_t unit = tier->device_->info().granularity;
  tier->bytes_ = round_up(std::max(bytes, unit), unit);
  AQUA_ASSIGN(tier->arena_, lending::SlabArena::reserve(*tier->device_, tier->bytes_));
  AQUA_ASSIGN(tier->space_, tensor::Space::create(Tier::host, tier->arena_->base(), tier->bytes_));
  for (std::size_t done = 0; done < tier->bytes_;) {
    const std::size_t piece = std::min(kHostSlabBytes, tier->bytes_ - done);
    AQUA_ASSIGN(const auto slab, tier->device_->create_slab(piece));
    AQUA_ASSIGN(const std::size_t offset, tier->arena_->map(*slab));
    AQUA_TRY(tier->space_->add_slab(offset, piece));
    done += piece;
  }
  return tier;
}

Result<std::unique_ptr<LocalTier>> LocalTier::open(device::Device& device, std::size_t bytes) {
  std::unique_ptr<LocalTier> tier(new LocalTier);
  const std::size_t rounded = round_up(bytes, device.info().granularity);
  AQUA_ASSIGN(tier->slab_, device.create_slab(rounded));
  AQUA_ASSIGN(tier->arena_, lending::SlabArena::reserve(device, rounded));
  AQUA_ASSIGN(const std::size_t offset, tier->arena_->map(*tier->slab_));
  AQUA_ASSIGN(tier->space_, tensor::Space::create(Tier::local, tier->arena_->base(), rounded));
  AQUA_TRY(tier->space_->add_slab(offset, rounded));
  return tier;
}

}  // namespace aqua::runtime
