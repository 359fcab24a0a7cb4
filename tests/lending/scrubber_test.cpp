// SPDX-License-Identifier: Apache-2.0
// Slabs between two tenants: zeroed, after their memory was remade where that is asked for.
#include "lending/scrubber.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/lending/support.hpp"

namespace aqua::lending {
namespace {

class Scrubbing : public ::testing::Test {
 protected:
  // Remakes where `place_` is, once `others` jobs are done, and refuses before.
  std::unique_ptr<Scrubber> start(std::size_t others) {
    return Scrubber::start(
               *gpu_,
               [this, others](const Scrubber::Job&) -> Result<std::byte*> {
                 const MutexLock lock(mu_);
                 ++remade_;
                 if (done_.size() < others) return Error{Code::resource_exhausted, "no memory"};
                 return place_.base();
               },
               [this](const Scrubber::Job& job, const Result<void>& zeroed) {
                 EXPECT_TRUE(succeeds(zeroed));
                 const MutexLock lock(mu_);
                 done_.push_back(job.index);
                 changed_.notify_all();
               })
        .value();
  }
  [[nodiscard]] std::vector<std::uint32_t> wait_for(std::size_t jobs) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    const MutexLock lock(mu_);
    while (done_.size() < jobs && changed_.wait_until(mu_, deadline)) {
    }
    return done_;
  }

  std::unique_ptr<device::Device> gpu_ = open_gpu(1);
  const device::Place place_ = device::make_place(*gpu_, kSlab);
  Mutex mu_;
  CondVar changed_;
  std::vector<std::uint32_t> done_ AQUA_GUARDED_BY(mu_);
  unsigned remade_ AQUA_GUARDED_BY(mu_) = 0;
};

TEST_F(Scrubbing, WhatFindsNoMemoryIsTriedAgainAndHoldsUpNobody) {
  device::upload(*gpu_, place_.base(), bytes_like(1));
  const device::Place other = device::make_place(*gpu_, kSlab);
  const auto scrubber = start(1);
  scrubber->submit({.index = 1, .bytes = kSlab});
  scrubber->submit({.index = 2, .address = other.base(), .bytes = kSlab});
  EXPECT_EQ(wait_for(2), (std::vector<std::uint32_t>{2, 1}));
  EXPECT_EQ(device::download(*gpu_, place_.base(), kSlab), zeroes());
  const MutexLock lock(mu_);
  EXPECT_GT(remade_, 1U);
}

TEST_F(Scrubbing, WhatWaitsForMemoryDoesNotKeepTheScrubberFromEnding) {
  auto scrubber = start(SIZE_MAX);
  scrubber->submit({.index = 1, .bytes = kSlab});
  scrubber->submit({.index = 2, .address = place_.base(), .bytes = kSlab});
  scrubber.reset();
  EXPECT_EQ(wait_for(1), std::vector<std::uint32_t>{2});
}

}  // namespace
}  // namespace aqua::lending
