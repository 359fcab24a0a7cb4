// SPDX-License-Identifier: Apache-2.0
// Packers over the C ABI: engines and requests, and what is asked of them.
#include "aqua/c/packer.h"

#include <algorithm>
#include <utility>

#include "capi/sized.hpp"
#include "systems/packing/capi/objects.hpp"

using namespace aqua::capi;
using namespace aqua::packing;
using aqua::Result;

namespace aqua::capi {
namespace {

// A call that tells the packer of one engine or request.
template <typename Tell>
[[nodiscard]] aqua_error* tell(const char* what, aqua_packer packer, Tell&& tell) {
  return call([&] {
    return use_packer(what, packer, [&](LockedPacker& locked) { return tell(*locked.packer); });
  });
}

// A question that is answered by a struct of C's: `to_c` makes it of what `ask` says.
template <typename Status, typename Ask, typename ToC>
[[nodiscard]] aqua_error* answer(const char* what, aqua_packer packer, Status* status, Ask&& ask,
                                 ToC&& to_c) {
  return call([&]() -> Result<void> {
    AQUA_TRY(check_size(what, status));
    return use_packer(what, packer, [&](const LockedPacker& locked) -> Result<void> {
      AQUA_ASSIGN(const auto told, ask(*locked.packer));
      give_out(to_c(told), status);
      return {};
    });
  });
}

Result<PackerOptions> to_options(const aqua_packer_options* given) {
  aqua_packer_options options = AQUA_PACKER_OPTIONS_INIT;
  if (given != nullptr) {
    AQUA_ASSIGN(options, take_in("aqua_packer_create: options", given, options));
  }
  const PackerOptions ours;
  const auto or_default = [](auto value, auto standard) { return value != 0 ? value : standard; };
  return PackerOptions{
      .watermark = options.watermark,
      .max_moves = or_default(options.max_moves, ours.max_moves),
      .max_move_tokens = options.max_move_tokens,
      .reserve = options.reserve != 0,
      .near_slack = options.near_slack,
      .balance_gap = options.balance_gap,
      .block_tokens = or_default(options.block_tokens, ours.block_tokens),
      .bytes_per_token = or_default(options.bytes_per_token, ours.bytes_per_token)};
}

}  // namespace
}  // namespace aqua::capi

extern "C" {

const char* aqua_packer_policy(size_t index) {
  // kDefaultPacker and packer_names(), which a test holds this against.
  constexpr const char* kNames[] = {"pack", "mell", "drain", "lb", "wf", "bf"};
  return index < std::size(kNames) ? kNames[index] : nullptr;
}

const char* aqua_packer_reason_name(aqua_packer_reason reason) {
  return reason < kReasons ? to_string(static_cast<Reason>(reason)).data() : "unknown";
}

aqua_error* aqua_packer_create(const char* policy, const aqua_packer_options* options,
                               aqua_packer* packer) {
  return call([&]() -> Result<void> {
    AQUA_CAPI_NOT_NULL("aqua_packer_create", packer);
    AQUA_ASSIGN(const PackerOptions wanted, to_options(options));
    AQUA_ASSIGN(auto made, make_packer(policy != nullptr ? policy : kDefaultPacker, wanted));
    auto locked = std::make_unique<LockedPacker>(std::move(made));
    AQUA_ASSIGN(packer->id, packers().insert(0, PackerObject{std::move(locked)}));
    return {};
  });
}

aqua_error* aqua_packer_free(aqua_packer packer) {
  return call([&]() -> Result<void> {
    AQUA_ASSIGN(const auto last, packers().end("aqua_packer_free", packer.id));
    return {};
  });
}

aqua_error* aqua_packer_join(aqua_packer packer, const aqua_packer_engine* engine) {
  constexpr const char* what = "aqua_packer_join";
  return tell(what, packer, [&](Packer& p) -> Result<void> {
    AQUA_ASSIGN(const auto spec, take_in(what, engine));
    return p.join({.id = EngineId{spec.id},
                   .kv_tokens = spec.kv_tokens,
                   .server = ServerId{spec.server},
                   .domain = DomainId{spec.domain},
                   .wake_cost = spec.wake_cost});
  });
}

aqua_error* aqua_packer_resize(aqua_packer packer, uint64_t engine, uint64_t kv_tokens) {
  return tell("aqua_packer_resize", packer,
              [&](Packer& p) { return p.resize(EngineId{engine}, kv_tokens); });
}

aqua_error* aqua_packer_drain(aqua_packer packer, uint64_t engine) {
  return tell("aqua_packer_drain", packer, [&](Packer& p) { return p.drain(EngineId{engine}); });
}

aqua_error* aqua_packer_gone(aqua_packer packer, uint64_t engine) {
  return tell("aqua_packer_gone", packer, [&](Packer& p) { return p.gone(EngineId{engine}); });
}

aqua_error* aqua_packer_lost(aqua_packer packer, uint64_t engine, const uint64_t** requests,
                             size_t* count) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_packer_lost";
    AQUA_CAPI_NOT_NULL(what, requests);
    AQUA_CAPI_NOT_NULL(what, count);
    return use_packer(what, packer, [&](LockedPacker& locked) -> Result<void> {
      AQUA_ASSIGN(const auto waiting, locked.packer->lost(EngineId{engine}));
      locked.lost.clear();
      for (const RequestId id : waiting) locked.lost.push_back(static_cast<std::uint64_t>(id));
      *requests = locked.lost.data();
      *count = locked.lost.size();
      return {};
    });
  });
}

aqua_error* aqua_packer_arrive(aqua_packer packer, const aqua_packer_request* request,
                               aqua_packer_placement* placement) {
  constexpr const char* what = "aqua_packer_arrive";
  return tell(what, packer, [&](Packer& p) -> Result<void> {
    AQUA_CAPI_NOT_NULL(what, placement);
    AQUA_ASSIGN(const auto spec, take_in(what, request));
    AQUA_ASSIGN(const Placement placed, p.arrive({.id = RequestId{spec.id},
                                                  .tokens = spec.tokens,
                                                  .max_new = spec.max_new,
                                                  .prefix = PrefixId{spec.prefix},
                                                  .prefix_tokens = spec.prefix_tokens}));
    *placement = to_c(placed);
    return {};
  });
}

aqua_error* aqua_packer_grew(aqua_packer packer, uint64_t request, uint64_t tokens) {
  return tell("aqua_packer_grew", packer,
              [&](Packer& p) { return p.grew(RequestId{request}, tokens); });
}

aqua_error* aqua_packer_ended(aqua_packer packer, uint64_t request) {
  return tell("aqua_packer_ended", packer, [&](Packer& p) { return p.ended(RequestId{request}); });
}

aqua_error* aqua_packer_moved(aqua_packer packer, uint64_t request, uint64_t plan) {
  return tell("aqua_packer_moved", packer,
              [&](Packer& p) { return p.moved(RequestId{request}, plan); });
}

aqua_error* aqua_packer_failed(aqua_packer packer, uint64_t request, uint64_t plan) {
  return tell("aqua_packer_failed", packer,
              [&](Packer& p) { return p.failed(RequestId{request}, plan); });
}

aqua_error* aqua_packer_get_engine(aqua_packer packer, uint64_t engine,
                                   aqua_packer_engine_status* status) {
  return answer(
      "aqua_packer_get_engine", packer, status,
      [&](const Packer& p) { return p.engine(EngineId{engine}); },
      [](const EngineStatus& s) {
        return aqua_packer_engine_status{sizeof(aqua_packer_engine_status),
                                         static_cast<aqua_packer_engine_state>(s.state),
                                         s.kv_tokens,
                                         s.usable_tokens,
                                         s.held_tokens,
                                         s.leaving_tokens,
                                         s.residents,
                                         s.coming,
                                         s.leaving};
      });
}

aqua_error* aqua_packer_get_request(aqua_packer packer, uint64_t request,
                                    aqua_packer_request_status* status) {
  return answer(
      "aqua_packer_get_request", packer, status,
      [&](const Packer& p) { return p.request(RequestId{request}); },
      [](const RequestStatus& s) {
        return aqua_packer_request_status{sizeof(aqua_packer_request_status),
                                          static_cast<aqua_packer_request_state>(s.state),
                                          static_cast<std::uint64_t>(s.engine),
                                          static_cast<std::uint64_t>(s.from),
                                          s.own_tokens,
                                          s.prefix_tokens};
      });
}

aqua_error* aqua_packer_get_status(aqua_packer packer, aqua_packer_status* status) {
  return answer(
      "aqua_packer_get_status", packer, status,
      [](const Packer& p) -> Result<PackerStatus> { return p.status(); },
      [](const PackerStatus& s) {
        return aqua_packer_status{sizeof(aqua_packer_status),
                                  s.waiting,
                                  s.resident,
                                  s.moving,
                                  s.asleep,
                                  s.active,
                                  s.draining,
                                  s.held_tokens,
                                  s.held_bytes,
                                  s.moves,
                                  s.moved_tokens,
                                  s.moved_bytes,
                                  s.preemptions,
                                  s.looked_at};
      });
}

}  // extern "C"
