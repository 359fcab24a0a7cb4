// SPDX-License-Identifier: Apache-2.0
// KV pools over the C ABI: parcels that are handed over and accepted, and what becomes of them.
#include <span>
#include <string>

#include "aqua/c/kv_pool.h"
#include "capi/convert.hpp"
#include "capi/handoff/objects.hpp"
#include "capi/sized.hpp"

namespace aqua::capi {
namespace {

static_assert(static_cast<aqua_parcel_state>(ParcelState::reserved) == AQUA_PARCEL_RESERVED);
static_assert(static_cast<aqua_parcel_state>(ParcelState::open) == AQUA_PARCEL_OPEN);
static_assert(static_cast<aqua_parcel_state>(ParcelState::closed) == AQUA_PARCEL_CLOSED);
static_assert(static_cast<aqua_parcel_state>(ParcelState::taken) == AQUA_PARCEL_TAKEN);
static_assert(static_cast<aqua_parcel_state>(ParcelState::confirmed) == AQUA_PARCEL_CONFIRMED);

using Outcome = Delivery::Outcome;
constexpr aqua_delivery_outcome to_c(Outcome outcome) noexcept {
  return static_cast<aqua_delivery_outcome>(outcome);
}
static_assert(to_c(Outcome::confirmed) == AQUA_DELIVERY_CONFIRMED);
static_assert(to_c(Outcome::superseded) == AQUA_DELIVERY_SUPERSEDED);
static_assert(to_c(Outcome::cancelled) == AQUA_DELIVERY_CANCELLED);
static_assert(to_c(Outcome::recalled) == AQUA_DELIVERY_RECALLED);
static_assert(to_c(Outcome::refused) == AQUA_DELIVERY_REFUSED);
static_assert(to_c(Outcome::in_doubt) == AQUA_DELIVERY_IN_DOUBT);
static_assert(to_c(Outcome::declined) == AQUA_DELIVERY_DECLINED);

// A parcel as its giver names it. `name` is the argument's, for errors.
Result<Parcel> to_parcel(const char* what, const char* name, const KvPool& pool,
                         const aqua_parcel* parcel) {
  AQUA_ASSIGN(const auto given, take_in<aqua_parcel>(name, parcel, AQUA_PARCEL_INIT));
  AQUA_ASSIGN(const auto blocks,
              to_block_list(what, pool.layout(), given.blocks, given.block_count));
  if (given.note_bytes != 0 && given.note == nullptr) return null_argument(what, "note");
  if (given.note_bytes > AQUA_MAX_NOTE_BYTES) {  // before any of it is read
    return Error{Code::invalid_argument, concat(what, ": a note of ", given.note_bytes,
                                                " bytes, at most ", AQUA_MAX_NOTE_BYTES)};
  }
  Parcel made{.id = string_or_empty(given.id), .turn = given.turn, .tokens = given.tokens};
  made.blocks.assign(blocks.begin(), blocks.end());
  if (given.note_bytes != 0)
    made.note.assign(static_cast<const char*>(given.note), given.note_bytes);
  return made;
}

}  // namespace

aqua_parcel to_c(const Parcel& parcel) noexcept {
  aqua_parcel c = AQUA_PARCEL_INIT;
  c.number = parcel.number;
  c.id = parcel.id.c_str();
  c.turn = parcel.turn;
  c.blocks = parcel.blocks.data();
  c.block_count = parcel.blocks.size();
  c.note = parcel.note.data();
  c.note_bytes = parcel.note.size();
  c.tokens = parcel.tokens;
  c.tail_in_doubt = parcel.tail_in_doubt ? 1 : 0;
  return c;
}

// `c.parcel` points into the row: a list's rows stay where they are made.
UndeliveredRow::UndeliveredRow(const Undelivered& undelivered) noexcept
    : parcel(to_c(undelivered.parcel)), c{sizeof(aqua_undelivered),
                                          &parcel,
                                          undelivered.role.c_str(),
                                          undelivered.error.message.c_str(),
                                          to_c(undelivered.error.code),
                                          undelivered.in_doubt ? 1U : 0U} {}

DeliveryRow::DeliveryRow(const Delivery& delivery) noexcept
    : c{sizeof(aqua_delivery),          delivery.number,
        delivery.error.message.c_str(), AQUA_OK,
        to_c(delivery.outcome),         delivery.returned ? 1U : 0U} {
  if (delivery.outcome == Outcome::refused || delivery.outcome == Outcome::in_doubt) {
    c.code = to_c(delivery.error.code);
  }
}

}  // namespace aqua::capi

using namespace aqua::capi;
using aqua::Result;

extern "C" {

aqua_error* aqua_kv_pool_hand_over(aqua_kv_pool pool, const aqua_parcel* parcel, const char* role,
                                   aqua_stream stream) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_kv_pool_hand_over";
    AQUA_ASSIGN(const auto used, kv_pools().use(what, pool.id));
    aqua::KvPool& of = used->shown->pool;
    AQUA_ASSIGN(auto given, to_parcel(what, "aqua_kv_pool_hand_over: parcel", of, parcel));
    return of.hand_over(std::move(given), string_or_empty(role), to_stream(stream));
  });
}

aqua_error* aqua_kv_pool_undelivered(aqua_kv_pool pool, const aqua_undelivered* const** undelivered,
                                     size_t* count) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_kv_pool_undelivered";
    AQUA_CAPI_NOT_NULL(what, undelivered);
    AQUA_CAPI_NOT_NULL(what, count);
    AQUA_ASSIGN(const auto used, kv_pools().use(what, pool.id));
    ShownPool& shown = *used->shown;
    shown.undelivered.show([&] { return shown.pool.undelivered(); }, undelivered, count);
    return {};
  });
}

aqua_error* aqua_kv_pool_open(aqua_kv_pool pool, const char* id, uint64_t turn, const char* role,
                              uint64_t* number) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_kv_pool_open";
    AQUA_CAPI_NOT_NULL(what, number);
    AQUA_ASSIGN(const auto used, kv_pools().use(what, pool.id));
    AQUA_ASSIGN(*number, used->shown->pool.open({.id = string_or_empty(id), .turn = turn},
                                                string_or_empty(role)));
    return {};
  });
}

aqua_error* aqua_kv_pool_get_parcel_state(aqua_kv_pool pool, uint64_t number,
                                          aqua_parcel_state* state) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_kv_pool_get_parcel_state";
    AQUA_CAPI_NOT_NULL(what, state);
    AQUA_ASSIGN(const auto used, kv_pools().use(what, pool.id));
    AQUA_ASSIGN(const auto told, used->shown->pool.state(number));
    *state = static_cast<aqua_parcel_state>(told);
    return {};
  });
}

aqua_error* aqua_kv_pool_close(aqua_kv_pool pool, uint64_t number, const aqua_parcel* parcel,
                               aqua_stream stream) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_kv_pool_close";
    AQUA_ASSIGN(const auto used, kv_pools().use(what, pool.id));
    aqua::KvPool& of = used->shown->pool;
    AQUA_ASSIGN(auto given, to_parcel(what, "aqua_kv_pool_close: parcel", of, parcel));
    return of.close(number, given.blocks, given.tokens, std::move(given.note), to_stream(stream));
  });
}

aqua_error* aqua_kv_pool_recall(aqua_kv_pool pool, uint64_t number) {
  return call([&]() -> Result<void> {
    AQUA_ASSIGN(const auto used, kv_pools().use("aqua_kv_pool_recall", pool.id));
    return used->shown->pool.recall(number);
  });
}

aqua_error* aqua_kv_pool_deliveries(aqua_kv_pool pool, const aqua_delivery* const** deliveries,
                                    size_t* count) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_kv_pool_deliveries";
    AQUA_CAPI_NOT_NULL(what, deliveries);
    AQUA_CAPI_NOT_NULL(what, count);
    AQUA_ASSIGN(const auto used, kv_pools().use(what, pool.id));
    ShownPool& shown = *used->shown;
    shown.deliveries.show([&] { return shown.pool.deliveries(); }, deliveries, count);
    return {};
  });
}

aqua_error* aqua_kv_pool_accept(aqua_kv_pool pool, size_t most, const aqua_parcel* const** parcels,
                                size_t* count) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_kv_pool_accept";
    AQUA_CAPI_NOT_NULL(what, parcels);
    AQUA_CAPI_NOT_NULL(what, count);
    AQUA_ASSIGN(const auto used, kv_pools().use(what, pool.id));
    ShownPool& shown = *used->shown;
    shown.parcels.show([&] { return shown.pool.accept(most); }, parcels, count);
    return {};
  });
}

aqua_error* aqua_kv_pool_confirm(aqua_kv_pool pool, uint64_t number) {
  return call([&]() -> Result<void> {
    AQUA_ASSIGN(const auto used, kv_pools().use("aqua_kv_pool_confirm", pool.id));
    return used->shown->pool.confirm(number);
  });
}

aqua_error* aqua_kv_pool_finish(aqua_kv_pool pool, uint64_t number, aqua_stream stream) {
  return call([&]() -> Result<void> {
    AQUA_ASSIGN(const auto used, kv_pools().use("aqua_kv_pool_finish", pool.id));
    return used->shown->pool.finish(number, to_stream(stream));
  });
}

aqua_error* aqua_kv_pool_superseded(aqua_kv_pool pool, const uint64_t** numbers, size_t* count) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_kv_pool_superseded";
    AQUA_CAPI_NOT_NULL(what, numbers);
    AQUA_CAPI_NOT_NULL(what, count);
    AQUA_ASSIGN(const auto used, kv_pools().use(what, pool.id));
    ShownPool& shown = *used->shown;
    const aqua::MutexLock guard(shown.superseded_lock);
    shown.superseded = shown.pool.superseded();
    *numbers = shown.superseded.data();
    *count = shown.superseded.size();
    return {};
  });
}

aqua_error* aqua_kv_pool_cut_off(aqua_kv_pool pool, const aqua_parcel_head* const** heads,
                                 size_t* count) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_kv_pool_cut_off";
    AQUA_CAPI_NOT_NULL(what, heads);
    AQUA_CAPI_NOT_NULL(what, count);
    AQUA_ASSIGN(const auto used, kv_pools().use(what, pool.id));
    ShownPool& shown = *used->shown;
    shown.cut_off.show([&] { return shown.pool.cut_off(); }, heads, count);
    return {};
  });
}

}  // extern "C"
