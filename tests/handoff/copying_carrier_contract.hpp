// SPDX-License-Identifier: Apache-2.0
// What every Carrier does that carries bytes into blocks of the taker's, as tests. Its worlds are
// those of carrier_contract.hpp, with caches of kLayers layers, and
//
//   void wipe(carrier, blocks)                                  zeroes them behind its stream
//   bool are_stamped(carrier, blocks, layer, stamp, as_layer)   whether a layer is one of a stamp's
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/handoff/carrier_contract.hpp"

namespace aqua {

template <typename World>
class CopyingCarrierContract : public CarrierContract<World> {
 protected:
  // A whole layer of the sequence.
  static KvRange layer(std::uint32_t number) { return {.layers = {number, 1}}; }
};

TYPED_TEST_SUITE_P(CopyingCarrierContract);

TYPED_TEST_P(CopyingCarrierContract, NothingIsFilledBeforeItsGiversRoleHasRoom) {
  const auto decode = this->world_.join("decode");
  const auto prefill = this->world_.join("prefill");
  const auto verify = this->world_.join("verify");
  const auto blocks = this->world_.filled(*prefill, 2, 5);
  const Stream stream = this->world_.stream(*prefill);
  const std::uint64_t number = prefill->open({"a", 1}, "decode").value();
  ASSERT_TRUE(decode->admit("verify", 1).ok());
  this->until_open(*verify, verify->open({"b", 1}, "decode").value());
  EXPECT_EQ(prefill->state(number).value(), ParcelState::reserved) << "the room is another's";
  EXPECT_EQ(code_of(prefill->fill(number, {}, blocks, stream)), "failed_precondition");
  EXPECT_EQ(code_of(prefill->close(number, {}, 8, "", stream)), "failed_precondition");
  ASSERT_TRUE(decode->admit("prefill", 1).ok());
  this->until_open(*prefill, number);
  EXPECT_TRUE(prefill->fill(number, {}, blocks, stream).ok());
  // Another turn of the request has its room.
  const std::uint64_t again = prefill->open({"a", 2}, "decode").value();
  this->until_open(*prefill, again);
  EXPECT_EQ(this->delivery(*prefill).outcome, Delivery::Outcome::superseded);
  EXPECT_EQ(prefill->state(again).value(), ParcelState::open);
}

TYPED_TEST_P(CopyingCarrierContract, EachRangeLandsWhereItIsWantedAndItsBlocksAreFreeBefore) {
  const auto decode = this->join_decode();
  const auto prefill = this->world_.join("prefill");
  const std::uint64_t number = prefill->open({"r", 1}, "decode").value();
  this->until_open(*prefill, number);
  const auto blocks = this->world_.filled(*prefill, 2, 5);
  const Stream stream = this->world_.stream(*prefill);
  for (std::uint32_t l = 0; l < TypeParam::kLayers; ++l) {
    auto copies = prefill->fill(number, this->layer(l), blocks, stream);
    ASSERT_TRUE(copies.ok()) << copies.error().message;
    ASSERT_TRUE(copies->wait().ok());
  }
  this->world_.wipe(*prefill, blocks);
  EXPECT_EQ(code_of(prefill->fill(number, this->layer(TypeParam::kLayers), blocks, stream)),
            "invalid_argument");
  ASSERT_TRUE(prefill->close(number, {}, 8, "note", stream).ok());
  const Parcel parcel = this->take(*decode);
  const std::vector<std::uint32_t> into{9, 4};
  const Stream there = this->world_.stream(*decode);
  for (std::uint32_t l = 0; l < TypeParam::kLayers; ++l) {  // turned round
    auto landed = decode->land(parcel.number, this->layer(l), into,
                               this->layer(TypeParam::kLayers - 1 - l), there);
    ASSERT_TRUE(landed.ok()) << landed.error().message;
    ASSERT_TRUE(landed->wait().ok());
  }
  for (std::uint32_t l = 0; l < TypeParam::kLayers; ++l) {
    EXPECT_TRUE(this->world_.are_stamped(*decode, into, TypeParam::kLayers - 1 - l, 5, l)) << l;
  }
}

TYPED_TEST_P(CopyingCarrierContract, WhatWasNotFilledSoDoesNotLand) {
  const auto decode = this->join_decode();
  const auto prefill = this->world_.join("prefill");
  this->give(*prefill, {"r", 1}, 5);
  const Parcel parcel = this->take(*decode);
  const Stream there = this->world_.stream(*decode);
  const std::vector<std::uint32_t> two{9, 4}, one{9};
  const auto land = [&](const KvRange& filled, BlockList into, const KvRange& at) {
    const std::string could = code_of(decode->check_landable(parcel.number, filled, into, at));
    auto landed = decode->land(parcel.number, filled, into, at, there);
    EXPECT_EQ(code_of(landed), could);
    if (landed.ok()) {
      EXPECT_TRUE(landed->wait().ok());
    }
    return code_of(landed);
  };
  EXPECT_EQ(land(this->layer(0), two, this->layer(0)), "invalid_argument") << "all was, in one";
  EXPECT_EQ(land({}, one, {}), "invalid_argument") << "of two blocks";
  EXPECT_EQ(land({}, two, this->layer(0)), "invalid_argument") << "of all layers";
  EXPECT_EQ(land({}, two, {}), "ok");
}

REGISTER_TYPED_TEST_SUITE_P(CopyingCarrierContract, NothingIsFilledBeforeItsGiversRoleHasRoom,
                            EachRangeLandsWhereItIsWantedAndItsBlocksAreFreeBefore,
                            WhatWasNotFilledSoDoesNotLand);

}  // namespace aqua
