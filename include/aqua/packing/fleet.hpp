// SPDX-License-Identifier: Apache-2.0
// Engines and requests as packers see them: how much KV an engine holds, and how much a request
// needs.
//
// Units: tokens of KV. A request takes whole blocks of PackerOptions::block_tokens tokens.
#pragma once

#include <cstdint>
#include <string_view>

namespace aqua::packing {

enum class EngineId : std::uint64_t {};   // the caller's own numbers; 0 names no engine
enum class RequestId : std::uint64_t {};  // the caller's own numbers
enum class PrefixId : std::uint64_t {};   // a prompt prefix whose KV requests share; 0: none
enum class ServerId : std::uint64_t {};   // engines of a server reach each other without a network
enum class DomainId : std::uint64_t {};   // a rack, a switch: servers of a domain are near

inline constexpr EngineId no_engine{};
inline constexpr PrefixId no_prefix{};

// An engine that the packer rules. It sleeps until the packer wakes it.
struct EngineSpec {
  EngineId id{};
  // Capacity of its KV pool, above 0 and at most 2^40. What it lends to others is not in it.
  std::uint64_t kv_tokens = 0;
  ServerId server{};
  DomainId domain{};
  // What it costs to wake it, in any unit: the cheapest sleeping engine is woken first. An engine
  // that kept its weights and takes its pool back costs less than one that starts cold.
  double wake_cost = 0;
};

// asleep: holds nothing, and its pool may be lent or the engine be switched off.
// draining: gets nothing more, and its requests are moved away.
enum class EngineState : std::uint8_t { asleep, active, draining };

struct RequestSpec {
  RequestId id{};
  std::uint64_t tokens = 0;  // of KV when it begins: its prompt; at least 1, and at most 2^40
  // The most it may generate, or 0 when nobody knows. Read where PackerOptions::reserve is set.
  std::uint64_t max_new = 0;
  // The leading tokens that it shares with others of the same prefix, counted once on an engine, in
  // whole blocks. All requests that name a prefix give it the same tokens.
  PrefixId prefix = no_prefix;
  std::uint64_t prefix_tokens = 0;
};

enum class RequestState : std::uint8_t {
  waiting,   // on no engine: it came when there was no room, was preempted, or lost its engine
  resident,  // on an engine
  moving,    // ordered away: it holds room on both engines, until moved() or failed()
};

[[nodiscard]] constexpr std::string_view to_string(EngineState state) noexcept {
  constexpr std::string_view kNames[] = {"asleep", "active", "draining"};
  return kNames[static_cast<std::uint8_t>(state)];
}

[[nodiscard]] constexpr std::string_view to_string(RequestState state) noexcept {
  constexpr std::string_view kNames[] = {"waiting", "resident", "moving"};
  return kNames[static_cast<std::uint8_t>(state)];
}

struct EngineStatus {
  EngineState state = EngineState::asleep;
  std::uint64_t kv_tokens = 0;
  std::uint64_t usable_tokens = 0;  // what may be filled: kv_tokens less the watermark
  std::uint64_t held_tokens = 0;    // by residents and by both ends of moves, prefixes once
  // The part of these that moves away, with prefixes that nobody who stays shares.
  std::uint64_t leaving_tokens = 0;
  std::uint32_t residents = 0;            // that are not moving
  std::uint32_t coming = 0, leaving = 0;  // moves under way
  friend bool operator==(const EngineStatus&, const EngineStatus&) = default;
};

struct RequestStatus {
  RequestState state = RequestState::waiting;
  EngineId engine = no_engine;  // where it is, or moves to
  EngineId from = no_engine;    // where it moves from, if its KV is still there
  // What it takes by itself, in whole blocks; its prefix is not in it.
  std::uint64_t own_tokens = 0;
  std::uint64_t prefix_tokens = 0;
  friend bool operator==(const RequestStatus&, const RequestStatus&) = default;
};

}  // namespace aqua::packing
