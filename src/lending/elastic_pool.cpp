// SPDX-License-Identifier: Apache-2.0
#include "lending/elastic_pool.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "device/own_stream.hpp"

namespace aqua::lending {

Result<std::unique_ptr<ElasticPool>> ElasticPool::create(device::Device& device,
                                                         const ElasticPoolOptions& options) {
  const std::size_t granularity = device.info().granularity;
  const std::size_t most = std::numeric_limits<std::size_t>::max();
  if (options.planes == 0 || options.slab_bytes == 0 || options.slab_bytes % granularity != 0 ||
      options.plane_bytes == 0 || options.plane_bytes % options.slab_bytes != 0 ||
      options.plane_bytes > most / options.planes) {
    return Error{Code::invalid_argument,
                 concat("elastic pool: ", options.planes, " planes of ", options.plane_bytes,
                        " bytes in slabs of ", options.slab_bytes, ": slabs must be multiples of ",
                        granularity, ", planes of slabs")};
  }
  std::unique_ptr<ElasticPool> pool(new ElasticPool(device, options));
  AQUA_TRY(pool->fill());
  return pool;
}

Result<void> ElasticPool::fill() {
  const MutexLock lock(mu_);
  AQUA_ASSIGN(tail_free_, device_.create_event());
  for (std::size_t plane = 0; plane < options_.planes; ++plane) {
    AQUA_ASSIGN(auto range, device_.reserve(options_.plane_bytes));
    ranges_.push_back(std::move(range));
  }
  if (options_.filler) AQUA_TRY(make_filler());
  for (std::size_t quantum = 0; quantum < total_quanta_; ++quantum) {
    Slabs slabs;
    for (const auto& range : ranges_) {
      AQUA_ASSIGN(auto slab, device_.create_slab(options_.slab_bytes));
      AQUA_TRY(device_.map(*range, quantum * options_.slab_bytes, *slab));
      slabs.push_back(std::move(slab));
    }
    slabs_.push_back(std::move(slabs));
  }
  mapped_quanta_ = total_quanta_;
  usable_quanta_ = total_quanta_;
  return {};
}

// Its bytes may have been another tenant's; they are scrubbed in a place not in use yet. On a
// stream of its own, whose end waits for the scrub even when recording the event fails.
Result<void> ElasticPool::make_filler() {
  AQUA_ASSIGN(filler_, device_.create_slab(options_.slab_bytes));
  device::AddressRange& range = *ranges_.front();
  AQUA_TRY(device_.map(range, 0, *filler_));
  AQUA_ASSIGN(auto stream, device::OwnStream::create(device_));
  const auto scrub = [&]() -> Result<void> {
    AQUA_ASSIGN(auto scrubbed, device_.create_event());
    AQUA_TRY(device_.scrub(range.base(), options_.slab_bytes, *stream));
    AQUA_TRY(device_.record(*scrubbed, *stream));
    return device_.synchronize(*scrubbed);
  };
  auto scrubbed = scrub();
  AQUA_TRY(stream.end());
  AQUA_TRY(std::move(scrubbed));
  return device_.unmap(range, 0, options_.slab_bytes);
}

Result<void> ElasticPool::begin_shrink(std::size_t quanta, Stream stream) {
  const MutexLock lock(mu_);
  AQUA_TRY(swaps_.check_whole());
  if (quanta == 0) return Error{Code::invalid_argument, "lend: 0 quanta"};
  if (usable_quanta_ != mapped_quanta_) {
    return Error{Code::failed_precondition,
                 concat("lend: a loan of ", mapped_quanta_ - usable_quanta_,
                        " quanta is still to be unmapped")};
  }
  if (quanta > usable_quanta_) {
    return Error{Code::resource_exhausted,
                 concat("lend: ", quanta, " quanta of ", usable_quanta_.load(), " usable")};
  }
  if (auto named = device_.check_stream(stream); !named.ok())
    return Error{named.error().code, concat("lend: ", named.error().message)};
  AQUA_TRY(device_.record(*tail_free_, stream));
  usable_quanta_ -= quanta;
  return {};
}

Result<std::optional<ElasticPool::Slabs>> ElasticPool::poll_shrink() {
  const MutexLock lock(mu_);
  AQUA_TRY(swaps_.check_whole());
  if (usable_quanta_ == mapped_quanta_) {
    return Error{Code::failed_precondition, "poll_shrink: no shrink is pending"};
  }
  auto reached = device_.query(*tail_free_);
  if (!reached.ok()) {
    // The engine's work died on the way, and with it the promise that the tail is free.
    if (reached.error().code == Code::data_loss) usable_quanta_ = mapped_quanta_.load();
    return std::move(reached).error();
  }
  if (!*reached) return std::optional<Slabs>{};

  std::vector<SlabSwap> swaps;
  for (std::size_t quantum = usable_quanta_; quantum < mapped_quanta_; ++quantum) {
    for (std::size_t plane = 0; plane < options_.planes; ++plane) {
      swaps.push_back({ranges_[plane].get(), quantum * options_.slab_bytes,
                       slabs_[quantum][plane].get(), filler_.get()});
    }
  }
  AQUA_TRY(swaps_.run(swaps));
  Slabs freed;
  freed.reserve(swaps.size());
  for (std::size_t quantum = usable_quanta_; quantum < mapped_quanta_; ++quantum) {
    std::move(slabs_[quantum].begin(), slabs_[quantum].end(), std::back_inserter(freed));
  }
  slabs_.resize(usable_quanta_);
  mapped_quanta_ = usable_quanta_.load();
  return std::optional<Slabs>(std::move(freed));
}

Result<void> ElasticPool::cancel_shrink() {
  const MutexLock lock(mu_);
  AQUA_TRY(swaps_.check_whole());
  if (usable_quanta_ == mapped_quanta_) {
    return Error{Code::failed_precondition, "cancel_shrink: no shrink is pending"};
  }
  usable_quanta_ = mapped_quanta_.load();
  return {};
}

Result<std::size_t> ElasticPool::grow(Slabs& slabs) {
  const MutexLock lock(mu_);
  AQUA_TRY(swaps_.check_whole());
  if (usable_quanta_ != mapped_quanta_) {
    return Error{Code::failed_precondition, "grow: a shrink is pending; cancel or complete it"};
  }
  const std::size_t first = mapped_quanta_;
  const std::size_t quanta = std::min(slabs.size() / options_.planes, total_quanta_ - first);
  std::vector<SlabSwap> swaps;
  for (std::size_t i = 0; i < quanta * options_.planes; ++i) {
    if (slabs[i] == nullptr || slabs[i]->bytes() != options_.slab_bytes) {
      return Error{Code::invalid_argument,
                   concat("grow: slab ", i, " is not one of ", options_.slab_bytes, " bytes")};
    }
    swaps.push_back({ranges_[i % options_.planes].get(),
                     (first + i / options_.planes) * options_.slab_bytes, filler_.get(),
                     slabs[i].get()});
  }
  AQUA_TRY(swaps_.run(swaps));
  auto taken = std::make_move_iterator(slabs.begin());
  for (std::size_t i = 0; i < quanta; ++i) {
    const auto end = taken + static_cast<std::ptrdiff_t>(options_.planes);
    slabs_.emplace_back(taken, end);
    taken = end;
  }
  slabs.erase(slabs.begin(), taken.base());
  mapped_quanta_ += quanta;
  usable_quanta_ = mapped_quanta_.load();
  return quanta;
}

}  // namespace aqua::lending
