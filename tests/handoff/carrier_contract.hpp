// SPDX-License-Identifier: Apache-2.0
// What every Carrier does, as tests. A world makes members of one carrier and has their memory:
//
//   std::unique_ptr<Carrier> join(role)
//   std::vector<std::uint32_t> filled(carrier, count, stamp)    blocks of its own with these bytes
//   Stream stream(carrier)                                      on which they are written
//   bool landed(carrier, parcel, stamp)                         brings it here and compares
//   void cancel(id)
//   Runtime gpu                                                 of all members, an emulated one
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "aqua/handoff/carrier.hpp"
#include "base/internals.hpp"
#include "device/memfd/device.hpp"
#include "runtime/impl.hpp"
#include "tests/base/code_of.hpp"

namespace aqua {

template <typename World>
class CarrierContract : public ::testing::Test {
 protected:
  static constexpr std::chrono::seconds kLong{20};
  using Outcome = Delivery::Outcome;

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
  EXPECT_EQ(code_of(decode->finish(parcel.number, {})), "not_found");
}

TYPED_TEST_P(CarrierContract, WhatIsOpenIsNotTaken) {
  const auto prefill = this->world_.join("prefill");
  const auto decode = this->join_decode();
  const std::uint64_t number = prefill->open({"r", 1}, "decode").value();
  this->until_open(*prefill, number);
  EXPECT_EQ(prefill->state(number).value(), ParcelState::open);
  EXPECT_TRUE(decode->accept(1).empty());
  EXPECT_EQ(code_of(prefill->state(number + 999)), "not_found");
  EXPECT_EQ(code_of(prefill->open({"", 1}, "decode")), "invalid_argument");
  EXPECT_EQ(code_of(decode->confirm(12345)), "not_found");
  EXPECT_EQ(code_of(decode->land(12345, {}, {}, {}, {})), "not_found");
  EXPECT_EQ(code_of(decode->check_landable(12345, {}, {}, {})), "not_found");
}

TYPED_TEST_P(CarrierContract, WhatIsNotOpenIsNotFilled) {
  const auto decode = this->join_decode();
  const auto prefill = this->world_.join("prefill");
  const std::uint64_t number = this->give(*prefill, {"r", 1}, 5);
  const auto blocks = this->world_.filled(*prefill, 2, 6);
  const Stream stream = this->world_.stream(*prefill);
  for (const std::uint64_t not_mine : {number + 999, std::uint64_t{0}}) {
    EXPECT_EQ(code_of(prefill->fill(not_mine, {}, blocks, stream)), "not_found");
    EXPECT_EQ(code_of(prefill->close(not_mine, blocks, 8, "", stream)), "not_found");
    EXPECT_EQ(code_of(prefill->recall(not_mine)), "not_found");
  }
  EXPECT_EQ(code_of(prefill->fill(number, {}, blocks, stream)), "failed_precondition");
  EXPECT_EQ(code_of(prefill->close(number, blocks, 8, "", stream)), "failed_precondition");
  EXPECT_EQ(code_of(decode->admit("", 1)), "invalid_argument");
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
  EXPECT_EQ(code_of(prefill->state(number)), "not_found");
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
  EXPECT_EQ(code_of(prefill->state(late)), "not_found");
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
  EXPECT_EQ(code_of(prefill->recall(number)), "not_found");
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

TYPED_TEST_P(CarrierContract, ADeclinedParcelEndsAndIsToldItsGiver) {
  const auto decode = this->join_decode();
  const auto prefill = this->world_.join("prefill");
  const std::uint64_t number = this->give(*prefill, {"r", 1}, 5);
  const Parcel parcel = this->take(*decode);
  ASSERT_TRUE(decode->decline(parcel.number, this->world_.stream(*decode)).ok());
  const Delivery told = this->delivery(*prefill);
  EXPECT_EQ(told.number, number);
  EXPECT_EQ(told.outcome, Delivery::Outcome::declined);
  EXPECT_FALSE(told.returned);
  EXPECT_EQ(code_of(decode->finish(parcel.number, {})), "not_found");
  EXPECT_EQ(code_of(decode->decline(parcel.number, {})), "not_found");
  this->give(*prefill, {"s", 1}, 6);
  const Parcel next = this->take(*decode);
  EXPECT_EQ(next.id, "s") << "and the first one comes to nobody else";
  // CUDA's legacy stream is no good while another one is captured.
  device::pretend_capture(detail::Internals::impl(this->world_.gpu).device(), Stream{});
  ASSERT_TRUE(decode->decline(next.number).ok());
  EXPECT_EQ(this->delivery(*prefill).outcome, Delivery::Outcome::declined);
  EXPECT_EQ(code_of(decode->decline(next.number)), "not_found");
}

TYPED_TEST_P(CarrierContract, WhoWasToGetAParcelIsToldThatItDoesNotCome) {
  const auto decode = this->join_decode();
  auto prefill = this->world_.join("prefill");
  const auto until_told = [&] {
    for (;;) {
      auto told = decode->cut_off();
      if (!told.empty() || !decode->wait(this->kLong)) return told;
    }
  };
  ASSERT_TRUE(prefill->recall(this->give(*prefill, {"r", 1}, 5)).ok());
  EXPECT_EQ(until_told(), (std::vector<ParcelHead>{{"r", 1}}));
  this->until_open(*prefill, prefill->open({"s", 4}, "decode").value());
  this->give(*prefill, {"t", 1}, 6);
  prefill.reset();
  EXPECT_EQ(until_told(), (std::vector<ParcelHead>{{"s", 4}})) << "the other one is complete";
  EXPECT_TRUE(decode->cut_off().empty()) << "once";
  EXPECT_EQ(this->take(*decode).id, "t");
}

REGISTER_TYPED_TEST_SUITE_P(CarrierContract, AParcelArrivesWithItsBytesAndUnderANewTurn,
                            WhatIsOpenIsNotTaken, WhatIsNotOpenIsNotFilled,
                            ItsGiverIsToldOfItsCopiesApartFromItsArrival,
                            ATurnThatIsNotHigherIsRefused, ASupersededTakerIsTold,
                            ARecalledParcelIsTheGiversAgain,
                            WhatIsClosedOutlivesItsGiverAndItsTaker, ACancelledParcelIsToldItsGiver,
                            ADeclinedParcelEndsAndIsToldItsGiver,
                            WhoWasToGetAParcelIsToldThatItDoesNotCome);

}  // namespace aqua
