// SPDX-License-Identifier: Apache-2.0
// Packer decides on which engine each request's KV is, so that few engines are needed: where a
// request goes when it comes, and which requests move while they grow and end.
// docs/plan/packing.md describes the policies, what each guarantees, and where they come from.
//
//   auto made = packing::make_packer(packing::kDefaultPacker, {.block_tokens = 16});
//   packing::Packer& packer = **made;
//   for (const packing::EngineSpec& engine : engines) (void)packer.join(engine);
//   while (serving()) {  // results are left out here
//     for (const packing::RequestSpec& request : came()) send(request, *packer.arrive(request));
//     for (const auto& [id, tokens] : grown()) (void)packer.grew(id, tokens);
//     for (const packing::RequestId id : ended()) (void)packer.ended(id);
//     const packing::Plan& plan = packer.epoch();
//     carry_out(plan);  // then moved() or failed() with plan.number for each move, when it is over
//   }
//
// Time: the packer knows none. The caller says how long an epoch is, by when it asks for a plan.
// Growth is best told before it happens: what a request will hold until the next epoch.
// Growth under way: a request that moves grows on both engines. While moves are under way an engine
// may come to hold more than its pool (EngineStatus::held_tokens above kv_tokens), and no plan
// preempts for what leaves it. The caller then says failed() of a move from it or to it, and the
// next plan counts anew.
// Threads: not thread-safe; pure and deterministic: the same calls give the same answers.
// Owns: numbers only. The caller keeps the bytes, and sends requests and KV.
// Errors: a call that fails changes nothing. not_found: no such request or engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/export.h"
#include "aqua/packing/fleet.hpp"
#include "aqua/packing/options.hpp"
#include "aqua/packing/plan.hpp"
#include "aqua/result.hpp"

namespace aqua::packing {

struct PackerStatus {
  std::size_t waiting = 0, resident = 0, moving = 0;  // requests
  std::size_t asleep = 0, active = 0, draining = 0;   // engines
  std::uint64_t held_tokens = 0;  // over all engines, both ends of moves, prefixes once an engine
  std::uint64_t held_bytes = 0;
  // Since the packer was made.
  std::uint64_t moves = 0;  // ordered
  std::uint64_t moved_tokens = 0, moved_bytes = 0;
  std::uint64_t preemptions = 0;
  // Entries of its indexes that decisions looked at: what a decision costs, counted.
  std::uint64_t looked_at = 0;
  friend bool operator==(const PackerStatus&, const PackerStatus&) = default;
};

class AQUA_API Packer {
 public:
  Packer() = default;
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;
  virtual ~Packer();

  [[nodiscard]] virtual std::string_view name() const noexcept = 0;

  // --- engines come and go -------------------------------------------------------------------
  // already_exists; invalid_argument names the field.
  [[nodiscard]] virtual Result<void> join(const EngineSpec& engine) = 0;
  // Its pool has another capacity: memory was lent, or came back. May be below what it holds; the
  // next plans then relieve it. invalid_argument: 0, or more than 2^40.
  [[nodiscard]] virtual Result<void> resize(EngineId engine, std::uint64_t kv_tokens) = 0;
  // Gets nothing more, and plans move its requests away (bf and wf: they end there).
  // failed_precondition: it is draining.
  [[nodiscard]] virtual Result<void> drain(EngineId engine) = 0;
  // Forgets it. failed_precondition: requests are on it, or moves to or from it are under way.
  [[nodiscard]] virtual Result<void> gone(EngineId engine) = 0;
  // It died with what was on it: answers those requests, which wait from now on. Moves from it are
  // off, and those to it as if failed().
  [[nodiscard]] virtual Result<std::vector<RequestId>> lost(EngineId engine) = 0;

  // --- requests come, grow and end -----------------------------------------------------------
  // Answers at once where it goes: to an active engine, or to one that is to be woken. It waits
  // where no engine has room, and while others wait. already_exists; invalid_argument names the
  // field; resource_exhausted: it is larger than what may be filled of any engine.
  [[nodiscard]] virtual Result<Placement> arrive(const RequestSpec& request) = 0;
  // It holds, or is about to hold, so many tokens in all. invalid_argument: fewer than before, or
  // more than 2^40.
  [[nodiscard]] virtual Result<void> grew(RequestId request, std::uint64_t tokens) = 0;
  // It ended or was aborted, in whatever state. A move of it under way is no longer the packer's
  // business; report nothing more about this id.
  [[nodiscard]] virtual Result<void> ended(RequestId request) = 0;

  // --- plans -----------------------------------------------------------------------------------
  // The next plan. It stays as it is until epoch() is called again.
  [[nodiscard]] virtual const Plan& epoch() = 0;
  // The move that plan number `plan` ordered is over, and its KV on the old engine gone.
  // failed_precondition: the plan was overtaken, so that the request does not move any more, or
  // moves by another plan.
  [[nodiscard]] virtual Result<void> moved(RequestId request, std::uint64_t plan) = 0;
  // The move was not done: the request is where it was, or waits if its KV was dropped. An engine
  // that has no room for a move after all (an earlier one failed, requests grew) refuses it thus.
  // failed_precondition as above.
  [[nodiscard]] virtual Result<void> failed(RequestId request, std::uint64_t plan) = 0;

  // --- questions -----------------------------------------------------------------------------
  [[nodiscard]] virtual Result<RequestStatus> request(RequestId request) const = 0;
  [[nodiscard]] virtual Result<EngineStatus> engine(EngineId engine) const = 0;
  [[nodiscard]] virtual PackerStatus status() const noexcept = 0;
};

// For whoever has no reason for another: few engines and few moves, and a worst case.
inline constexpr std::string_view kDefaultPacker = "pack";

// pack | mell | drain | lb | wf | bf, in this order.
[[nodiscard]] AQUA_API std::vector<std::string> packer_names();

// invalid_argument names the field that cannot be, or lists the names there are.
[[nodiscard]] AQUA_API Result<std::unique_ptr<Packer>> make_packer(std::string_view name,
                                                                   const PackerOptions& options);

}  // namespace aqua::packing
