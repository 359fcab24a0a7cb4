// SPDX-License-Identifier: Apache-2.0
#include "runtime/host_tier.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/concat.hpp"
#include "base/mutex.hpp"
#include "base/try.hpp"
#include "device/memfd/device.hpp"
#include "device/numa.hpp"

namespace aqua::runtime {
namespace {

constexpr std::size_t kHostSlabBytes = std::size_t{64} << 20;
constexpr std::size_t kTouchers = 4;  // more do not make pages faster

std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// Runs `work` on a few threads of its own, which end with it: what node their pages come from is
// a thread's own setting. The first error, if any.
Result<void> on_touchers(std::size_t count, int numa_node,
                         const std::function<Result<void>()>& work) {
  Mutex mu;
  Result<void> outcome;  // guarded by mu
  std::vector<std::thread> touchers;
  const auto end = [&](Result<void> result) {
    const MutexLock lock(mu);
    if (outcome.ok()) outcome = std::move(result);
  };
  try {
    while (touchers.size() < count) {
      touchers.emplace_back([&] {
        device::prefer_numa_node(numa_node);
        end(work());
      });
    }
  } catch (const std::system_error& error) {
    end(Error{Code::resource_exhausted, concat("host tier: no thread: ", error.what())});
  }
  for (std::thread& thread : touchers) thread.join();
  return outcome;
}

}  // namespace

Result<std::unique_ptr<HostTier>> HostTier::open(std::size_t bytes, int numa_node) {
  std::unique_ptr<HostTier> tier(new HostTier);
  AQUA_ASSIGN(tier->device_, device::open_host({.total_bytes = bytes + kHostSlabBytes}));
  const std::size_t unit = tier->device_->info().granularity;
  tier->bytes_ = round_up(std::max(bytes, unit), unit);
  AQUA_ASSIGN(tier->arena_, lending::SlabArena::reserve(*tier->device_, tier->bytes_));
  AQUA_ASSIGN(tier->space_, tensor::Space::create(Tier::host, tier->arena_->base(), tier->bytes_));
  const std::size_t count = (tier->bytes_ + kHostSlabBytes - 1) / kHostSlabBytes;
  tier->pieces_.resize(count);
  std::atomic<std::size_t> next{0};
  AQUA_TRY(on_touchers(std::min(kTouchers, count), numa_node, [&]() -> Result<void> {
    for (std::size_t i = next++; i < count; i = next++) {
      auto added = tier->add_piece(i, std::min(kHostSlabBytes, tier->bytes_ - i * kHostSlabBytes));
      if (added.ok()) continue;
      next = count;  // the others stop as well
      return added;
    }
    return {};
  }));
  return tier;
}

// The slab's handle, and its descriptor, go at once; the mapping stays.
Result<void> HostTier::add_piece(std::size_t index, std::size_t bytes) {
  AQUA_ASSIGN(const auto slab, device_->create_slab(bytes));
  AQUA_ASSIGN(const std::size_t offset, arena_->map(*slab));
  pieces_[index] = {arena_->base() + offset, bytes};
  return space_->add_slab(offset, bytes);
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
