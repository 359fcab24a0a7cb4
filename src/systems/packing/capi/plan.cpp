// SPDX-License-Identifier: Apache-2.0
// Plans over the C ABI, and how their moves are made.
#include "aqua/c/packer.h"
#include "aqua/packing/divide.hpp"
#include "capi/sized.hpp"
#include "systems/packing/capi/objects.hpp"

using namespace aqua::capi;
using namespace aqua::packing;
using aqua::Code;
using aqua::concat;
using aqua::Error;
using aqua::Result;

namespace aqua::capi {
namespace {

template <typename Id>
std::vector<std::uint64_t> numbers(const std::vector<Id>& ids) {
  std::vector<std::uint64_t> numbers;
  numbers.reserve(ids.size());
  for (const Id id : ids) numbers.push_back(static_cast<std::uint64_t>(id));
  return numbers;
}

aqua_packer_move c_move(const Move& move) {
  return {static_cast<std::uint64_t>(move.request),
          static_cast<std::uint64_t>(move.from),
          static_cast<std::uint64_t>(move.to),
          move.tokens,
          move.bytes,
          static_cast<aqua_packer_reason>(move.reason),
          move.stage,
          move.dropped ? 1U : 0U};
}

Result<Move> cpp_move(const aqua_packer_move& move) {
  if (move.reason >= kReasons) {
    return Error{Code::invalid_argument, concat("aqua_packer_divide: request ", move.request,
                                                " moves for reason ", move.reason)};
  }
  return Move{.request = RequestId{move.request},
              .from = EngineId{move.from},
              .to = EngineId{move.to},
              .reason = static_cast<Reason>(move.reason),
              .tokens = move.tokens,
              .bytes = move.bytes,
              .stage = move.stage,
              .dropped = move.dropped != 0};
}

PlanArrays arrays_of(const Plan& plan) {
  PlanArrays arrays{.wake = numbers(plan.wake),
                    .freed = numbers(plan.freed),
                    .drained = numbers(plan.drained),
                    .too_large = numbers(plan.too_large)};
  for (const Preemption& p : plan.preemptions) {
    arrays.preemptions.push_back(
        {static_cast<std::uint64_t>(p.request), static_cast<std::uint64_t>(p.engine), p.tokens});
  }
  for (const Move& move : plan.moves) arrays.moves.push_back(c_move(move));
  for (const Placement& placement : plan.placements) arrays.placements.push_back(to_c(placement));
  return arrays;
}

Error two_boundaries(const char* of, std::uint64_t id) {
  return {Code::invalid_argument, concat("aqua_packer_divide: ", of, " ", id, " is listed twice")};
}

}  // namespace
}  // namespace aqua::capi

extern "C" {

aqua_error* aqua_packer_epoch(aqua_packer packer, aqua_packer_plan* plan) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_packer_epoch";
    AQUA_TRY(check_size(what, plan));
    return use_packer(what, packer, [&](LockedPacker& locked) -> Result<void> {
      const Plan& made = locked.packer->epoch();
      locked.plan = arrays_of(made);
      const PlanArrays& a = locked.plan;
      const Certificate& c = made.certificate;
      give_out(aqua_packer_plan{sizeof(aqua_packer_plan),
                                made.number,
                                a.preemptions.data(),
                                a.preemptions.size(),
                                a.wake.data(),
                                a.wake.size(),
                                a.moves.data(),
                                a.moves.size(),
                                a.placements.data(),
                                a.placements.size(),
                                a.freed.data(),
                                a.freed.size(),
                                a.drained.data(),
                                a.drained.size(),
                                a.too_large.data(),
                                a.too_large.size(),
                                made.move_limit,
                                {c.engines, c.bound, c.within ? 1U : 0U, c.properties ? 1U : 0U}},
               plan);
      return {};
    });
  });
}

aqua_error* aqua_packer_divide(const aqua_packer_move* moves, size_t count,
                               const aqua_packer_engine_boundary* engines, size_t engine_count,
                               const aqua_packer_server_boundary* servers, size_t server_count,
                               aqua_packer_ways ways, aqua_packer_send_as* send_as) {
  return call([&]() -> Result<void> {
    constexpr const char* what = "aqua_packer_divide";
    if (count != 0) AQUA_CAPI_NOT_NULL(what, moves);
    if (count != 0) AQUA_CAPI_NOT_NULL(what, send_as);
    if (engine_count != 0) AQUA_CAPI_NOT_NULL(what, engines);
    if (server_count != 0) AQUA_CAPI_NOT_NULL(what, servers);
    if (ways > AQUA_PACKER_TOKENS_ONLY)
      return Error{Code::invalid_argument, concat(what, ": ways is ", ways)};
    std::vector<Move> all;
    for (size_t i = 0; i < count; ++i) {
      AQUA_ASSIGN(all.emplace_back(), cpp_move(moves[i]));
    }
    Boundaries boundaries;
    for (size_t i = 0; i < engine_count; ++i) {
      const aqua_packer_engine_boundary& e = engines[i];
      const EngineBoundary ours{.server = ServerId{e.server},
                                .bytes_in = e.bytes_in,
                                .bytes_out = e.bytes_out,
                                .prefill_tokens = e.prefill_tokens};
      if (!boundaries.engines.emplace(EngineId{e.engine}, ours).second)
        return two_boundaries("engine", e.engine);
    }
    for (size_t i = 0; i < server_count; ++i) {
      const aqua_packer_server_boundary& s = servers[i];
      const ServerBoundary ours{.bytes_in = s.bytes_in, .bytes_out = s.bytes_out};
      if (!boundaries.servers.emplace(ServerId{s.server}, ours).second)
        return two_boundaries("server", s.server);
    }
    AQUA_ASSIGN(const auto divided, divide(all, boundaries, static_cast<Allowed>(ways)));
    for (size_t i = 0; i < count; ++i) send_as[i] = static_cast<aqua_packer_send_as>(divided[i]);
    return {};
  });
}

}  // extern "C"
