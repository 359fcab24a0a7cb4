// SPDX-License-Identifier: Apache-2.0
// DeferredFrees: places that streams still use, and who waits for whom.
#include "tensor/deferred_frees.hpp"

#include <chrono>

#include "tests/tensor/world.hpp"

namespace aqua::tensor {
namespace {

class Frees : public World {
 protected:
  // A place that a stream uses until `gate` opens.
  template <typename Delete>
  std::shared_ptr<TensorPlace> used_place(Delete&& free) {
    const auto allocation = host_->allocate(1_MiB).value();
    std::shared_ptr<TensorPlace> place(new TensorPlace(*host_, allocation),
                                       std::forward<Delete>(free));
    EXPECT_TRUE(place->record_use(*gpu_, a_, true).ok());
    return place;
  }

  DeferredFrees frees_{*gpu_};
};

TEST_F(Frees, APlaceInUseIsFreedOnceItIsQuiet) {
  bool freed = false;
  {
    Gate gate(*gpu_, a_);
    frees_.add(used_place([&](TensorPlace* place) {
      freed = true;
      delete place;
    }));
    EXPECT_EQ(frees_.collect(), 1U);
    EXPECT_FALSE(freed);
  }
  EXPECT_OK(finish(*gpu_, a_));
  EXPECT_EQ(frees_.collect(), 0U);
  EXPECT_TRUE(freed);
}

// Who finds nothing left to free has the room of what another thread is about to free.
TEST_F(Frees, WhatAnotherThreadHasBegunToFreeIsFreeWhenCollectReturns) {
  std::promise<void> begun, go_on;
  {
    Gate gate(*gpu_, a_);
    frees_.add(used_place([&, goes_on = go_on.get_future().share()](TensorPlace* place) {
      begun.set_value();
      goes_on.wait();
      delete place;
    }));
  }
  EXPECT_OK(finish(*gpu_, a_));
  auto first = std::async(std::launch::async, [&] { return frees_.collect(); });
  begun.get_future().wait();
  std::promise<void> asked;
  auto second = std::async(std::launch::async, [&] {
    asked.set_value();
    return frees_.collect();
  });
  asked.get_future().wait();
  EXPECT_EQ(second.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  EXPECT_EQ(host_->stats().allocated_bytes, 1_MiB);
  go_on.set_value();
  EXPECT_EQ(second.get(), 0U);
  EXPECT_EQ(first.get(), 0U);
  EXPECT_EQ(host_->stats().allocated_bytes, 0U);
}

}  // namespace
}  // namespace aqua::tensor
