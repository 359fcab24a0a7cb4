// SPDX-License-Identifier: Apache-2.0
// What every Carrier does, as tests. A world makes members of one carrier and has their memory:
//
//   std::unique_ptr<Carrier> join(role)
//   std::vector<std::uint32_t> filled(carrier, count, stamp)    blocks of its own with these bytes
//   Stream stream(carrier)                                      on which they are written
//   bool landed(carrier, parcel, stamp)                         brings it here and compares
//   void cancel(id)
//
// CopyingCarrierContract is for those that carry bytes into blocks of the taker's. Its worlds have
// caches of kLayers layers, and
//
//   void wipe(carrier, blocks)                                  zeroes them behind its stream
//   bool are_stamped(carrier, blocks, layer, stamp, as_layer)   whether a layer is one of a stamp's
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "aqua/handoff/carrier.hpp"

namespace aqua {

template <typename World>
class CarrierContract : public ::testing::Test {
 protected:
  static constexpr std::chrono::seconds kLong{20};
  using Outcome = Delivery::Outcome;

  template <typename T>
  static std::string code_of(const Result<T>& result) {
    return result.ok() ? "ok" : std::string(to_string(result.error().code));
  }
  static Parcel take(Carrier& carrier) {
    for (;;) {
      auto parcels = carrier.accept(1);
      if (!parcels.empty()) return std::move(parcels.front());
      if (!carrier.wait(kLong)) {
        ADD_FAILURE() << "no parcel came";
        return {};
      }
    }
  }
  static Delivery delivery(Carrier& carrier) {
    for (;;) {
      auto all = carrier.deliveries();
      EXPECT_LE(all.size(), 1U);
      if (!all.empty()) return all.front();
      if (!carrier.wait(kLong)) {
        ADD_FAILURE() << "nothing was delivered";
        return {};
      }
    }
  }
  static void until_open(Carrier& carrier, std::uint64_t number) {
    until(carrier, number, ParcelState::open);
  }
  static void until(Carrier& carrier, std::uint64_t number, ParcelState state) {
    for (;;) {
      const auto now = carrier.state(number);
      if (!now.ok() || *now >= state) return;
      ASSERT_TRUE(carrier.wait(kLong));
    }
  }
  // A decode with room for all that these tests give.
  std::unique_ptr<Carrier> join_decode() {
    auto decode = world_.join("decode");
    EXPECT_TRUE(decode->admit("prefill", 4).ok());
    return decode;
  }
  // Opens, fills and closes one of two blocks for decode.
  std::uint64_t give(Carrier& carrier, const ParcelHead& head, std::uint64_t stamp) {
    const std::uint64_t number = carrier.open(head, "decode").value();
    until_open(carrier, number);
    const auto blocks = world_.filled(carrier, 2, stamp);
    EXPECT_TRUE(carrier.fill(number, {}, blocks, world_.stream(carrier)).ok());
    EXPECT_TRUE(carrier.close(number, blocks, 8, "note", world_.stream(carrier)).ok());
    return number;
  }

  World world_;
};

TYPED_TEST_SUITE_P(CarrierContract);

TYPED_TEST_P(CarrierContract, AParcelArrivesWithItsBytesAndUnderANewTurn) {
  const auto prefill = this->world_.join("prefill");
  const auto decode = this->join_decode();
  const std::uint64_t number = this->give(*prefill, {"r", 4}, 77);
  const Parcel parcel = this->take(*decode);
  EXPECT_EQ(parcel.id, "r");
  EXPECT_EQ(parcel.turn, 5U);
  EXPECT_EQ(parcel.from, "prefill");
  EXPECT_EQ(parcel.tokens, 8U);
  EXPECT_EQ(parcel.note, "note");
  EXPECT_TRUE(this->world_.landed(*decode, parcel, 77));
  ASSERT_TRUE(decode->confirm(parcel.number).ok());
  const Delivery told = this->delivery(*prefill);
  EXPECT_EQ(told.number, number);
  EXPECT_EQ(told.outcome, Delivery::Outcome::confirmed);
  ASSERT_TRUE(decode->finish(parcel.number, {}).ok());
  EXPECT_EQ(this->code_of(decode->finish(parcel.number, {})), "not_found");
}

TYPED_TEST_P(CarrierContract, WhatIsOpenIsNotTaken) {
  const auto prefill = this->world_.join("prefill");
  const auto decode = this->join_decode();
  const std::uint64_t number = prefill->open({"r", 1}, "decode").value();
  this->until_open(*prefill, number);
  EXPECT_EQ(prefill->state(number).value(), ParcelState::open);
  EXPECT_TRUE(decode->accept(1).empty());
  EXPECT_EQ(this->code_of(prefill->state(number + 999)), "not_found");
  EXPECT_EQ(this->code_of(prefill->open({"", 1}, "decode")), "invalid_argument");
  EXPECT_EQ(this->code_of(decode->confirm(12345)), "not_found");
  EXPECT_EQ(this->code_of(decode->land(12345, {}, {}, {}, {})), "not_found");
  EXPECT_EQ(this->code_of(decode->check_landable(12345)), "not_found");
}

TYPED_TEST_P(CarrierContract, WhatIsNotOpenIsNotFilled) {
  const auto decode = this->join_decode();
  const auto prefill = this->world_.join("prefill");
  const std::uint64_t number = this->give(*prefill, {"r", 1}, 5);
  const auto blocks = this->world_.filled(*prefill, 2, 6);
  const Stream stream = this->world_.stream(*prefill);
  for (const std::uint64_t not_mine : {number + 999, std::uint64_t{0}}) {
    EXPECT_EQ(this->code_of(prefill->fill(not_mine, {}, blocks, stream)), "not_found");
    EXPECT_EQ(this->code_of(prefill->close(not_mine, blocks, 8, "", stream)), "not_found");
    EXPECT_EQ(this->code_of(prefill->recall(not_mine)), "not_found");
  }
  EXPECT_EQ(this->code_of(prefill->fill(number, {}, blocks, stream)), "failed_precondition");
  EXPECT_EQ(this->code_of(prefill->close(number, blocks, 8, "", stream)), "failed_precondition");
  EXPECT_EQ(this->code_of(decode->admit("", 1)), "invalid_argument");
  EXPECT_TRUE(this->world_.landed(*decode, this->take(*decode), 5)) << "and nothing has changed";
}

// Its giver learns that its blocks are free, and that it outlives it, before anybody takes it.
TYPED_TEST_P(CarrierContract, ItsGiverIsToldOfItsCopiesApartFromItsArrival) {
  const auto decode = this->join_decode();
  const auto prefill = this->world_.join("prefill");
  const std::uint64_t number = prefill->open({"r", 1}, "decode").value();
  this->until_open(*prefill, number);
  const auto blocks = this->world_.filled(*prefill, 2, 5);
  const Stream stream = this->world_.stream(*prefill);
  auto copies = prefill->fill(number, {}, blocks, stream);
  ASSERT_TRUE(copies.ok()) << copies.error().message;
  ASSERT_TRUE(prefill->close(number, blocks, 8, "note", stream).ok());
  ASSERT_TRUE(copies->wait().ok());
  EXPECT_TRUE(copies->done().value());
  this->until(*prefill, number, ParcelState::closed);
  EXPECT_EQ(prefill->state(number).value(), ParcelState::closed);
  EXPECT_TRUE(prefill->deliveries().empty()) << "nobody has it";
  const Parcel parcel = this->take(*decode);
  EXPECT_EQ(prefill->state(number).value(), ParcelState::closed);
  ASSERT_TRUE(decode->confirm(parcel.number).ok());
  EXPECT_EQ(this->delivery(*prefill).outcome, Delivery::Outcome::confirmed);
  EXPECT_EQ(this->code_of(prefill->state(number)), "not_found");
}

TYPED_TEST_P(CarrierContract, ATurnThatIsNotHigherIsRefused) {
  const auto prefill = this->world_.join("prefill");
  const auto decode = this->join_decode();
  this->give(*prefill, {"r", 1}, 5);
  const Parcel parcel = this->take(*decode);
  const std::uint64_t late = prefill->open({"r", parcel.turn}, "decode").value();
  const Delivery told = this->delivery(*prefill);
  EXPECT_EQ(told.number, late);
  EXPECT_EQ(told.outcome, Delivery::Outcome::refused);
  EXPECT_EQ(told.error.code, Code::aborted);
  EXPECT_EQ(this->code_of(prefill->state(late)), "not_found");
}

TYPED_TEST_P(CarrierContract, ASupersededTakerIsTold) {
  const auto prefill = this->world_.join("prefill");
  const auto decode = this->join_decode();
  const std::uint64_t first = this->give(*prefill, {"r", 1}, 5);
  const Parcel parcel = this->take(*decode);
  this->give(*prefill, {"r", 9}, 6);
  std::vector<std::uint64_t> superseded;
  while (superseded.empty()) {
    superseded = decode->superseded();
    if (superseded.empty()) {
      ASSERT_TRUE(decode->wait(this->kLong));
    }
  }
  EXPECT_EQ(superseded, std::vector{parcel.number});
  const Delivery told = this->delivery(*prefill);
  EXPECT_EQ(told.number, first);
  EXPECT_EQ(told.outcome, Delivery::Outcome::superseded);
  ASSERT_TRUE(decode->finish(parcel.number, {}).ok());
  const Parcel next = this->take(*decode);
  EXPECT_EQ(next.turn, 10U);
  EXPECT_TRUE(this->world_.landed(*decode, next, 6));
}

TYPED_TEST_P(CarrierContract, ARecalledParcelIsTheGiversAgain) {
  const auto prefill = this->world_.join("prefill");
  const auto decode = this->join_decode();
  const std::uint64_t number = this->give(*prefill, {"r", 1}, 5);
  ASSERT_TRUE(prefill->recall(number).ok());
  const Delivery told = this->delivery(*prefill);
  EXPECT_EQ(told.number, number);
  EXPECT_EQ(told.outcome, Delivery::Outcome::recalled);
  EXPECT_TRUE(told.returned);
  EXPECT_TRUE(decode->accept(1).empty());
  EXPECT_EQ(this->code_of(prefill->recall(number)), "not_found");
  this->give(*prefill, {"r", 2}, 6);
  EXPECT_TRUE(this->world_.landed(*decode, this->take(*decode), 6));
}

TYPED_TEST_P(CarrierContract, WhatIsClosedOutlivesItsGiverAndItsTaker) {
  auto first = this->join_decode();
  auto prefill = this->world_.join("prefill");
  this->give(*prefill, {"r", 1}, 5);
  prefill.reset();
  EXPECT_EQ(this->take(*first).turn, 2U);
  first.reset();
  const auto second = this->world_.join("decode");
  const Parcel parcel = this->take(*second);
  EXPECT_EQ(parcel.turn, 3U);
  EXPECT_TRUE(this->world_.landed(*second, parcel, 5));
}

TYPED_TEST_P(CarrierContract, ACancelledParcelIsToldItsGiver) {
  const auto decode = this->join_decode();
  const auto prefill = this->world_.join("prefill");
  const std::uint64_t number = prefill->open({"r", 1}, "decode").value();
  this->until_open(*prefill, number);
  this->world_.cancel("r");
  const Delivery told = this->delivery(*prefill);
  EXPECT_EQ(told.number, number);
  EXPECT_EQ(told.outcome, Delivery::Outcome::cancelled);
}

REGISTER_TYPED_TEST_SUITE_P(CarrierContract, AParcelArrivesWithItsBytesAndUnderANewTurn,
                            WhatIsOpenIsNotTaken, WhatIsNotOpenIsNotFilled,
                            ItsGiverIsToldOfItsCopiesApartFromItsArrival,
                            ATurnThatIsNotHigherIsRefused, ASupersededTakerIsTold,
                            ARecalledParcelIsTheGiversAgain,
                            WhatIsClosedOutlivesItsGiverAndItsTaker,
                            ACancelledParcelIsToldItsGiver);

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
  EXPECT_EQ(this->code_of(prefill->fill(number, {}, blocks, stream)), "failed_precondition");
  EXPECT_EQ(this->code_of(prefill->close(number, {}, 8, "", stream)), "failed_precondition");
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
  EXPECT_EQ(this->code_of(prefill->fill(number, this->layer(TypeParam::kLayers), blocks, stream)),
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
  EXPECT_EQ(this->code_of(decode->check_landable(parcel.number)), "ok");
  const auto land = [&](const KvRange& filled, BlockList into, const KvRange& at) {
    auto landed = decode->land(parcel.number, filled, into, at, there);
    if (landed.ok()) {
      EXPECT_TRUE(landed->wait().ok());
    }
    return this->code_of(landed);
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
