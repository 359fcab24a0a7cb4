// SPDX-License-Identifier: Apache-2.0
#include "runtime/lend/pool_share.hpp"

#include "aqua/elastic_pool.hpp"
#include "base/concat.hpp"
#include "base/internals.hpp"
#include "base/try.hpp"
#include "runtime/impl.hpp"

namespace aqua::runtime {

Result<void> PoolShare::lend(std::size_t quanta, Stream stream) {
  AQUA_TRY(pool_->begin_shrink(quanta, stream));
  producer_.kept_promise();
  shrinking_.store(true, std::memory_order_release);
  services_.loop.nudge();
  return {};
}

bool PoolShare::step() {
  // Taken back before the pool is asked: the engine may lend again as soon as it has answered.
  if (shrinking_.exchange(false, std::memory_order_acq_rel)) {
    auto slabs = pool_->poll_shrink();
    if (slabs.ok() && !slabs->has_value()) {
      shrinking_.store(true, std::memory_order_release);
      return true;
    }
    if (slabs.ok()) {
      lender_.lend(std::move(**slabs),
                   [self = shared_from_this()](auto slab) { self->on_returned(std::move(slab)); });
    } else {
      // Nothing was unmapped: the tail is the engine's again, who may lend anew. After data_loss
      // the pool has seen to that; else no other shrink can have begun.
      if (slabs.error().code != Code::data_loss) (void)pool_->cancel_shrink();
      services_.log(LogLevel::error, concat("elastic pool: not lent: ", slabs.error().message));
      services_.budget_changed(BudgetReason::reclaimed);
    }
  }
  return grow();
}

void PoolShare::on_returned(std::unique_ptr<device::Slab> slab) {
  {
    const MutexLock lock(mu_);
    returned_.push_back(std::move(slab));
  }
  services_.loop.nudge();
}

bool PoolShare::grow() {
  const MutexLock lock(mu_);
  if (returned_.size() < pool_->planes()) return false;
  const auto grown = pool_->grow(returned_);
  if (grown.ok()) {
    if (*grown > 0) services_.budget_changed(BudgetReason::reclaimed);
    return false;
  }
  if (grown.error().code != Code::failed_precondition)
    services_.log(LogLevel::error, grown.error().message);
  return true;  // a shrink is pending: when it is through
}

}  // namespace aqua::runtime

namespace aqua {

ElasticPool::ElasticPool(std::shared_ptr<runtime::PoolShare> share) : share_(std::move(share)) {}
ElasticPool::~ElasticPool() = default;

ElasticPool::ElasticPool(ElasticPool&&) noexcept = default;
ElasticPool& ElasticPool::operator=(ElasticPool&&) noexcept = default;

Result<ElasticPool> ElasticPool::create(Runtime& runtime, const ElasticPoolOptions& options) {
  auto& impl = detail::Internals::impl(runtime);
  // Asked first: addresses for a million planes would be taken before the memory is missed.
  const std::size_t total = impl.device().info().total_bytes;
  if (options.planes != 0 && options.plane_bytes > total / options.planes) {
    return Error{Code::resource_exhausted,
                 concat("elastic pool: ", options.planes, " planes of ", options.plane_bytes,
                        " bytes on a device of ", total)};
  }
  AQUA_ASSIGN(auto pool, lending::ElasticPool::create(impl.device(), options));
  return ElasticPool(impl.share(std::move(pool)));
}

std::byte* ElasticPool::plane(std::size_t number) const {
  return share_->pool().plane_base(number);
}
std::size_t ElasticPool::planes() const noexcept {
  return share_->pool().planes();
}
std::size_t ElasticPool::quantum_bytes() const noexcept {
  return share_->pool().quantum_bytes();
}
std::size_t ElasticPool::total_quanta() const noexcept {
  return share_->pool().total_quanta();
}
std::size_t ElasticPool::lent_quanta() const noexcept {
  return share_->pool().lent_quanta();
}
std::size_t ElasticPool::usable_bytes_per_plane() const noexcept {
  return share_->pool().usable_bytes_per_plane();
}
std::size_t ElasticPool::usable_blocks(std::size_t block_bytes) const noexcept {
  return share_->pool().usable_blocks(block_bytes);
}
Result<void> ElasticPool::lend(std::size_t quanta, Stream stream) {
  return share_->lend(quanta, stream);
}

}  // namespace aqua
