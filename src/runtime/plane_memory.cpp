// SPDX-License-Identifier: Apache-2.0
#include "aqua/plane_memory.hpp"

#include <algorithm>
#include <utility>

#include "base/concat.hpp"
#include "base/internals.hpp"
#include "base/mutex.hpp"
#include "base/try.hpp"
#include "lending/slab_swaps.hpp"
#include "runtime/impl.hpp"

namespace aqua {

struct PlaneMemory::Parts {
  // The slabs by number, shared with those who bring back what was lent. All are alike: what comes
  // back takes the first number that has none.
  struct Slabs {
    mutable Mutex mu;
    std::vector<std::unique_ptr<device::Slab>> all AQUA_GUARDED_BY(mu);  // null: lent

    void put_back(std::unique_ptr<device::Slab> slab) {
      const MutexLock lock(mu);
      const auto place = std::find(all.begin(), all.end(), nullptr);
      if (place != all.end()) *place = std::move(slab);
    }
  };

  Parts(device::Device& device, const PlaneMemoryOptions& wanted, runtime::Lender& to)
      : options(wanted), lender(to), swaps(device, "plane memory"), places(wanted.planes) {}
  // Frees every slab that is here. Those that are lent come back to a list without places, which
  // frees them as well.
  ~Parts() {
    ranges.clear();
    const MutexLock lock(slabs->mu);
    slabs->all.clear();
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  [[nodiscard]] Result<void> check(const Places& next) const {
    if (next.size() != options.planes) {
      return Error{Code::invalid_argument, concat("plane memory: places of ", next.size(),
                                                  " planes, where there are ", options.planes)};
    }
    for (std::size_t p = 0; p < next.size(); ++p) {
      const bool none = std::any_of(next[p].begin(), next[p].end(),
                                    [&](std::uint32_t slab) { return !has(slab); });
      if (!none && next[p].size() <= options.plane_bytes / options.slab_bytes) continue;
      return Error{
          Code::invalid_argument,
          concat("plane memory: plane ", p, " has ", next[p].size(), " places of ",
                 options.slab_bytes, " bytes", none ? ", one for a slab that is none or lent" : "",
                 "; it holds ", options.plane_bytes, " bytes of ", options.slabs, " slabs")};
    }
    return {};
  }
  // What is at a place, or null.
  [[nodiscard]] const device::Slab* at(const std::vector<std::uint32_t>& plane,
                                       std::size_t place) const {
    if (place >= plane.size()) return nullptr;
    const MutexLock lock(slabs->mu);
    return slabs->all[plane[place]].get();
  }
  [[nodiscard]] bool has(std::uint32_t slab) const {
    const MutexLock lock(slabs->mu);
    return slab < slabs->all.size() && slabs->all[slab] != nullptr;
  }

  const PlaneMemoryOptions options;
  runtime::Lender& lender;
  lending::SlabSwaps swaps;
  const std::shared_ptr<Slabs> slabs = std::make_shared<Slabs>();
  std::vector<std::unique_ptr<device::AddressRange>> ranges;
  Places places;
};

PlaneMemory::PlaneMemory(std::unique_ptr<Parts> parts) noexcept : parts_(std::move(parts)) {}
PlaneMemory::PlaneMemory(PlaneMemory&&) noexcept = default;
PlaneMemory& PlaneMemory::operator=(PlaneMemory&&) noexcept = default;
PlaneMemory::~PlaneMemory() = default;

Result<PlaneMemory> PlaneMemory::create(Runtime& runtime, const PlaneMemoryOptions& options) {
  auto& impl = detail::Internals::impl(runtime);
  AQUA_TRY(impl.check_process());
  device::Device& device = impl.device();
  const auto& [planes, plane_bytes, count, slab_bytes] = options;
  const std::size_t total = device.info().total_bytes;
  if (planes == 0 || slab_bytes == 0 || slab_bytes % device.info().granularity != 0 ||
      plane_bytes == 0 || plane_bytes % slab_bytes != 0 || plane_bytes > SIZE_MAX / planes ||
      count == 0) {
    return Error{Code::invalid_argument,
                 concat("plane memory: ", planes, " planes of ", plane_bytes, " bytes for ", count,
                        " slabs of ", slab_bytes, ": slabs must be multiples of ",
                        device.info().granularity, ", planes of slabs, and none 0")};
  }
  if (count > total / slab_bytes) {
    return Error{Code::resource_exhausted, concat("plane memory: ", count, " slabs of ", slab_bytes,
                                                  " bytes on a device of ", total)};
  }
  auto parts = std::make_unique<Parts>(device, options, impl.lender());
  for (std::size_t p = 0; p < planes; ++p) {
    AQUA_ASSIGN(auto range, device.reserve(plane_bytes));
    parts->ranges.push_back(std::move(range));
  }
  for (std::size_t i = 0; i < count; ++i) {
    AQUA_ASSIGN(auto slab, device.create_slab(slab_bytes));
    const MutexLock lock(parts->slabs->mu);
    parts->slabs->all.push_back(std::move(slab));
  }
  return PlaneMemory(std::move(parts));
}

std::byte* PlaneMemory::plane(std::size_t number) const {
  return parts_->ranges.at(number)->base();
}
const PlaneMemoryOptions& PlaneMemory::options() const noexcept {
  return parts_->options;
}

Result<void> PlaneMemory::map(Places places) {
  Parts& parts = *parts_;
  AQUA_TRY(parts.swaps.check_whole());
  AQUA_TRY(parts.check(places));
  std::vector<lending::SlabSwap> swaps;
  for (std::size_t p = 0; p < places.size(); ++p) {
    const std::size_t all = std::max(places[p].size(), parts.places[p].size());
    for (std::size_t i = 0; i < all; ++i) {
      const device::Slab* const now = parts.at(parts.places[p], i);
      const device::Slab* const next = parts.at(places[p], i);
      if (now != next)
        swaps.push_back({parts.ranges[p].get(), i * parts.options.slab_bytes, now, next});
    }
  }
  if (auto run = parts.swaps.run(swaps); !run.ok()) {
    if (parts.swaps.check_whole().ok()) return run;
    return Error{Code::data_loss, concat("plane memory: a change failed and could not be undone: ",
                                         run.error().message)};
  }
  parts.places = std::move(places);
  return {};
}

Result<void> PlaneMemory::lend(const std::vector<std::uint32_t>& slabs) {
  Parts& parts = *parts_;
  std::vector<bool> mapped(parts.options.slabs);
  for (const auto& plane : parts.places) {
    for (const std::uint32_t slab : plane) mapped[slab] = true;
  }
  std::vector<std::unique_ptr<device::Slab>> out;
  {
    const MutexLock lock(parts.slabs->mu);
    for (const std::uint32_t slab : slabs) {
      if (slab >= mapped.size() || mapped[slab] || parts.slabs->all[slab] == nullptr)
        return Error{Code::invalid_argument, concat("plane memory: lend slab ", slab, ", of ",
                                                    mapped.size(), ": it is mapped or lent")};
      mapped[slab] = true;  // is not named twice
    }
    for (const std::uint32_t slab : slabs) out.push_back(std::move(parts.slabs->all[slab]));
  }
  if (out.empty()) return {};
  parts.lender.lend(std::move(out),
                    [store = parts.slabs](auto slab) { store->put_back(std::move(slab)); });
  return {};
}

std::vector<bool> PlaneMemory::lent() const {
  const MutexLock lock(parts_->slabs->mu);
  std::vector<bool> lent;
  for (const auto& slab : parts_->slabs->all) lent.push_back(slab == nullptr);
  return lent;
}

}  // namespace aqua
