#include "runtime/host_tier.hpp"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/concat.hpp"
#include "base/mutex.hpp"
#include "base/try.hpp"
#include "device/memfd_device.hpp"
#include "device/numa.hpp"

namespace aqua::runtime {
namespace {

constexpr std::size_t kHostSlabBytes = std::size_t{64} << 20;
constexpr std::size_t kTouchers = 4;  // more do not make pages faster

using Slabs = std::vector<std::unique_ptr<device::Slab>>;

std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// Slabs of kHostSlabBytes that make up `bytes`, touched. On threads that end with it: which
// node pages come from is the thread's own setting.
Result<Slabs> create_slabs(device::Device& device, std::size_t bytes, int numa_node) {
  Slabs slabs((bytes + kHostSlabBytes - 1) / kHostSlabBytes);
  Result<void> outcome;
  Mutex mu;  // guards outcome
  std::atomic<std::size_t> next{0};
  const auto touch = [&] {
    device::prefer_numa_node(numa_node);
    for (std::size_t i = next++; i < slabs.size(); i = next++) {
      auto slab = device.create_slab(std::min(kHostSlabBytes, bytes - i * kHostSlabBytes));
      if (slab.ok()) {
        slabs[i] = std::move(slab).value();
        continue;
      }
      next = slabs.size();
      const MutexLock lock(mu);
      outcome = std::move(slab).error();
    }
  };
  std::vector<std::thread> touchers;
  try {
    while (touchers.size() < std::min(kTouchers, slabs.size())) touchers.emplace_back(touch);
  } catch (const std::system_error& error) {
    next = slabs.size();
    outcome = Error{Code::resource_exhausted, concat("host tier: no thread: ", error.what())};
  }
  for (std::thread& thread : touchers) thread.join();
  AQUA_TRY(std::move(outcome));
  return slabs;
}

}  // namespace

std::size_t HostTier::piece_bytes() noexcept {
  return kHostSlabBytes;
}

Result<std::unique_ptr<HostTier>> HostTier::open(std::size_t bytes, int numa_node) {
  std::unique_ptr<HostTier> tier(new HostTier);
  AQUA_ASSIGN(tier->device_, device::open_host({.total_bytes = bytes + kHostSlabBytes}));
  const std::size_t unit = tier->device_->info().granularity;
  tier->bytes_ = round_up(std::max(bytes, unit), unit);
  AQUA_ASSIGN(tier->arena_, lending::SlabArena::reserve(*tier->device_, tier->bytes_));
  AQUA_ASSIGN(tier->space_, tensor::Space::create(Tier::host, tier->arena_->base(), tier->bytes_));
  AQUA_ASSIGN(const Slabs slabs, create_slabs(*tier->device_, tier->bytes_, numa_node));
  for (const auto& slab : slabs) {
    AQUA_ASSIGN(const std::size_t offset, tier->arena_->map(*slab));
    AQUA_TRY(tier->space_->add_slab(offset, slab->bytes()));
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
