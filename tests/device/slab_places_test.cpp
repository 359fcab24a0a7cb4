// SPDX-License-Identifier: Apache-2.0
#include "device/slab_places.hpp"

#include "tests/device/contract.hpp"

namespace aqua::device {
namespace {

TEST(SlabPlaces, APlaceIsFreeUntilTakenAndAgainOnceReleased) {
  SlabPlaces places(100, 10);
  EXPECT_OK(places.check_free(20, 30));
  places.take(20, 30);
  EXPECT_CODE(Code::failed_precondition, places.check_free(40, 10));
  EXPECT_CODE(Code::failed_precondition, places.check_free(10, 20));
  EXPECT_OK(places.check_free(10, 10));
  EXPECT_OK(places.check_free(50, 50));
  EXPECT_OK(places.check_taken(20, 30));
  EXPECT_CODE(Code::invalid_argument, places.check_taken(20, 20));
  EXPECT_CODE(Code::failed_precondition, places.check_taken(30, 20));
  places.release(20);
  EXPECT_OK(places.check_free(20, 30));
}

TEST(SlabPlaces, WhatIsNoPlaceInTheRangeIsRefused) {
  const SlabPlaces places(100, 10);
  for (const auto& [offset, bytes] : {std::pair<std::size_t, std::size_t>{5, 10},
                                      {0, 15},
                                      {0, 0},
                                      {100, 10},
                                      {90, 20},
                                      {SIZE_MAX / 10 * 10, 10}}) {
    EXPECT_CODE(Code::invalid_argument, places.check_free(offset, bytes)) << offset;
    EXPECT_CODE(Code::invalid_argument, places.check_taken(offset, bytes)) << offset;
  }
}

}  // namespace
}  // namespace aqua::device
