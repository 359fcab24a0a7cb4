// SPDX-License-Identifier: Apache-2.0
// PoolShare connects an ElasticPool with the lender: what the engine has let go of is lent
// when its stream is done, and what is returned is mapped again, a quantum at a time.
//
// Threads: every method may be called concurrently; step() is the control loop's.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "lending/elastic_pool.hpp"
#include "runtime/lend/lender.hpp"
#include "runtime/lend/producer_role.hpp"

namespace aqua::runtime {

class PoolShare : public std::enable_shared_from_this<PoolShare> {
 public:
  PoolShare(std::unique_ptr<lending::ElasticPool> pool, Lender& lender, ProducerRole& producer,
            Services& services)
      : pool_(std::move(pool)), lender_(lender), producer_(producer), services_(services) {}

  [[nodiscard]] Result<void> lend(std::size_t quanta, Stream stream);
  // Returns whether it waits for something that makes no event.
  [[nodiscard]] bool step();
  [[nodiscard]] const lending::ElasticPool& pool() const noexcept { return *pool_; }

 private:
  void on_returned(std::unique_ptr<device::Slab> slab);
  [[nodiscard]] bool grow();

  const std::unique_ptr<lending::ElasticPool> pool_;
  Lender& lender_;
  ProducerRole& producer_;
  Services& services_;
  std::atomic<bool> shrinking_{false};
  Mutex mu_;
  lending::ElasticPool::Slabs returned_ AQUA_GUARDED_BY(mu_);  // not yet a quantum
};

}  // namespace aqua::runtime
