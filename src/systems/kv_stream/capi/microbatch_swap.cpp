// SPDX-License-Identifier: Apache-2.0
// Microbatch swaps over the C ABI.
#include <memory>
#include <utility>

#include "capi/callbacks.hpp"
#include "capi/convert.hpp"
#include "capi/sized.hpp"
#include "systems/kv_stream/capi/microbatch_objects.hpp"

namespace aqua::capi {
namespace {

static_assert(AQUA_NEXT_IN_ORDER == MicrobatchSwap::kInOrder);
constexpr std::size_t kMostBuffers = 2;

aqua_microbatch_swap_status to_c(const MicrobatchSwapStatus& status) noexcept {
  return {sizeof(aqua_microbatch_swap_status),
          status.turns,
          status.foreseen,
          status.unforeseen,
          status.fetched_bytes,
          status.written_bytes,
          status.away_bytes,
          status.away_peer_bytes};
}

Result<MicrobatchSwapOptions> to_options(const char* what,
                                         const aqua_microbatch_swap_options* options) {
  AQUA_ASSIGN(const auto given,
              take_in<aqua_microbatch_swap_options>("aqua_microbatch_swap_create: options", options,
                                                    AQUA_MICROBATCH_SWAP_OPTIONS_INIT));
  if (given.buffer_count == 0 || given.buffer_count > kMostBuffers) {
    return Error{Code::invalid_argument,
                 concat(what, ": ", given.buffer_count, " buffers, 1 or 2 are possible")};
  }
  if (given.buffers == nullptr) return null_argument(what, "buffers");
  MicrobatchSwapOptions made;
  made.microbatches = given.microbatches;
  for (std::size_t i = 0; i < given.buffer_count; ++i) {
    AQUA_ASSIGN(const auto buffer, layouts().use(what, given.buffers[i].id));
    made.buffers.push_back(*buffer);
  }
  if (given.name != nullptr && *given.name != '\0') made.name = given.name;
  return made;
}

// Runs use(locked) as the only call on the swap. `what` names the call.
template <typename Use>
Result<void> use_swap(const char* what, aqua_microbatch_swap handle, Use&& use) {
  AQUA_ASSIGN(const auto object, microbatch_swaps().use(what, handle.id));
  return use_locked(what, *object->locked, use);
}

}  // namespace
}  // namespace aqua::capi

using namespace aqua::capi;
using aqua::MutexLock;
using aqua::Result;

extern "C" {

aqua_error* aqua_microbatch_swap_create(aqua_runtime runtime,
                                        const aqua_microbatch_swap_options* options,
                                        aqua_microbatch_swap* swap) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_microbatch_swap_create";
    AQUA_CAPI_NOT_NULL(what, swap);
    AQUA_ASSIGN(const auto used, runtimes().use(what, runtime.id));
    AQUA_ASSIGN(const auto wanted, to_options(what, options));
    auto locked = std::make_unique<LockedMicrobatchSwap>(wanted.buffers.front());
    AQUA_ASSIGN(auto made, aqua::MicrobatchSwap::create(*used, wanted));
    locked->swap.emplace(std::move(made));
    count_alive(Kind::microbatch_swap,
                [](std::uint64_t id) { return microbatch_swaps().count(id); });
    AQUA_ASSIGN(swap->id, microbatch_swaps().insert(
                              runtime.id, MicrobatchSwapObject{used.keep(), std::move(locked)}));
    return {};
  });
}

aqua_error* aqua_microbatch_swap_free(aqua_microbatch_swap swap) {
  return free_waiting("aqua_microbatch_swap_free", microbatch_swaps(), swap.id);
}

aqua_error* aqua_microbatch_swap_get_status(aqua_microbatch_swap swap,
                                            aqua_microbatch_swap_status* status) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_microbatch_swap_get_status";
    AQUA_TRY(check_size(what, status));
    AQUA_ASSIGN(const auto object, microbatch_swaps().use(what, swap.id));
    LockedMicrobatchSwap& locked = *object->locked;
    const MutexLock guard(locked.lock);
    give_out(to_c(locked.swap->status()), status);
    return {};
  });
}

aqua_error* aqua_microbatch_swap_begin_turn(aqua_microbatch_swap swap, aqua_stream stream,
                                            uint32_t microbatch, uint32_t next, uint32_t* buffer) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_microbatch_swap_begin_turn";
    AQUA_CAPI_NOT_NULL(what, buffer);
    return use_swap(what, swap, [&](LockedMicrobatchSwap& used) -> Result<void> {
      AQUA_ASSIGN(*buffer, used.swap->begin_turn(to_stream(stream), microbatch, next));
      return {};
    });
  });
}

aqua_error* aqua_microbatch_swap_end_turn(aqua_microbatch_swap swap, const uint32_t* writes,
                                          size_t count, uint64_t* turn) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_microbatch_swap_end_turn";
    AQUA_CAPI_NOT_NULL(what, turn);
    return use_swap(what, swap, [&](LockedMicrobatchSwap& used) -> Result<void> {
      AQUA_ASSIGN(const auto blocks, to_block_list(what, used.buffer, writes, count));
      AQUA_ASSIGN(*turn, used.swap->end_turn(blocks));
      return {};
    });
  });
}

aqua_error* aqua_microbatch_swap_turn_done(aqua_microbatch_swap swap, uint64_t turn, int* done) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_microbatch_swap_turn_done";
    AQUA_CAPI_NOT_NULL(what, done);
    return use_swap(what, swap, [&](LockedMicrobatchSwap& used) -> Result<void> {
      AQUA_ASSIGN(const bool over, used.swap->turn_done(turn));
      *done = over ? 1 : 0;
      return {};
    });
  });
}

aqua_error* aqua_microbatch_swap_drop(aqua_microbatch_swap swap, uint32_t microbatch,
                                      const uint32_t* blocks, size_t count) {
  return call([&] {
    constexpr const char* what = "aqua_microbatch_swap_drop";
    return use_swap(what, swap, [&](LockedMicrobatchSwap& used) -> Result<void> {
      AQUA_ASSIGN(const auto list, to_block_list(what, used.buffer, blocks, count));
      return used.swap->drop(microbatch, list);
    });
  });
}

aqua_error* aqua_microbatch_swap_clear(aqua_microbatch_swap swap, uint32_t microbatch) {
  return call([&] {
    return use_swap("aqua_microbatch_swap_clear", swap,
                    [&](LockedMicrobatchSwap& used) { return used.swap->clear(microbatch); });
  });
}

}  // extern "C"
