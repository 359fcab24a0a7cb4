// SPDX-License-Identifier: Apache-2.0
#include "transfer/staging.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::transfer {

StagingLease::StagingLease(StagingPool& pool, std::unique_ptr<StagingPair> pair) noexcept
    : pool_(&pool), pair_(std::move(pair)) {}
StagingLease::StagingLease(StagingLease&& other) noexcept
    : pool_(other.pool_), pair_(std::move(other.pair_)) {}
StagingLease& StagingLease::operator=(StagingLease&& other) noexcept {
  if (this != &other) {
    reset();
    pool_ = other.pool_;
    pair_ = std::move(other.pair_);
  }
  return *this;
}
void StagingLease::reset() noexcept {
  if (pair_) pool_->give_back(std::move(pair_));
}

StagingPool::StagingPool(device::Device& device, const StagingOptions& options)
    : device_(device), options_(options) {}

Result<StagingLease> StagingPool::acquire() {
  {
    const MutexLock lock(mu_);
    if (!idle_.empty()) {
      auto pair = std::move(idle_.back());
      idle_.pop_back();
      return StagingLease(*this, std::move(pair));
    }
    if (created_ == options_.pairs) {
      return Error{Code::resource_exhausted,
                   concat("staging: all ", options_.pairs, " pairs of buffers are lent")};
    }
    ++created_;  // ours to create; the lock is not held over that
    idle_.reserve(created_);
  }
  auto pair = create_pair();
  if (!pair.ok()) {
    const MutexLock lock(mu_);
    --created_;
    return std::move(pair).error();
  }
  return StagingLease(*this, std::move(pair).value());
}

Result<std::unique_ptr<StagingPair>> StagingPool::create_pair() {
  const std::size_t unit = device_.info().granularity;
  const std::size_t bytes = (options_.buffer_bytes + unit - 1) / unit * unit;
  auto pair = std::make_unique<StagingPair>();
  AQUA_ASSIGN(pair->slab, device_.create_slab(2 * bytes));
  AQUA_ASSIGN(pair->range, device_.reserve(2 * bytes));
  AQUA_TRY(device_.map(*pair->range, 0, *pair->slab));
  AQUA_ASSIGN(pair->ready, device_.create_event());
  AQUA_ASSIGN(pair->stream, device::OwnStream::create(device_));
  pair->buffers = {pair->range->base(), pair->range->base() + bytes};
  pair->buffer_bytes = bytes;
  if (options_.poison_on_release) poison(*pair);
  return pair;
}

void StagingPool::poison(StagingPair& pair) {
  static const std::vector<std::byte> pattern(std::size_t{64} << 10, kStagingPoison);
  std::vector<device::CopySegment> copies;
  const std::size_t all = 2 * pair.buffer_bytes;
  for (std::size_t at = 0; at < all; at += pattern.size()) {
    copies.push_back({pair.buffers[0] + at, pattern.data(), std::min(pattern.size(), all - at)});
  }
  auto batch = std::make_shared<const std::vector<device::CopySegment>>(std::move(copies));
  auto posted = device_.copy(std::move(batch), *pair.stream);
  if (posted.ok()) posted = device_.record(*pair.ready, *pair.stream);
  if (!posted.ok()) {
    std::fprintf(stderr, "aqua: staging: poisoning: %s\n", posted.error().message.c_str());
  }
}

void StagingPool::give_back(std::unique_ptr<StagingPair> pair) noexcept {
  if (options_.poison_on_release) poison(*pair);
  const MutexLock lock(mu_);
  idle_.push_back(std::move(pair));  // reserved by acquire()
}

}  // namespace aqua::transfer
