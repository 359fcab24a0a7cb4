// SPDX-License-Identifier: Apache-2.0
// Fleet counts: which request is on which engine, what each engine holds, and where there is room.
// It knows which counts follow from which change, and not what should change.
//
// Counts: an engine holds the own tokens of each request that is there, comes or leaves, and each
// prefix of theirs once. A request has a home, where it is or moves to, and while it moves a
// source.
//
// Threads: not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "aqua/packing/fleet.hpp"
#include "aqua/packing/options.hpp"
#include "systems/packing/decide/bound_index.hpp"

namespace aqua::packing {

struct Engine;

// Rounded down, so that what is left of the tokens is not less than its share.
[[nodiscard]] inline std::uint64_t share_of(std::uint64_t tokens, double share) {
  return static_cast<std::uint64_t>(static_cast<double>(tokens) * share);
}

struct Request {
  RequestId id{};
  PrefixId prefix = no_prefix;
  std::uint64_t own = 0;            // in whole blocks, without the prefix
  std::uint64_t prefix_tokens = 0;  // in whole blocks
  std::uint64_t tokens = 0;         // as last told
  std::uint64_t reserved = 0;       // tokens + max_new of its beginning, where that is reserved
  std::uint64_t arrival = 0;        // its place in the order of arrivals
  RequestState state = RequestState::waiting;
  Engine* home = nullptr;
  Engine* source = nullptr;  // of a move, unless its KV was dropped
};

// Requests on an engine that share a prefix, and how many of them move away or come by a move.
struct Sharers {
  std::uint32_t all = 0, leaving = 0, coming = 0;
};

struct Engine {
  EngineSpec spec{};
  EngineState state = EngineState::asleep;
  std::uint64_t usable = 0;
  std::uint64_t relieved_above = 0;  // it is relieved when more than this stays
  std::uint64_t held = 0;
  std::uint64_t own = 0;  // of residents
  // The part of held that goes with those that leave: theirs, and prefixes that nobody else shares.
  std::uint64_t leaving = 0;
  std::uint32_t coming = 0, going = 0;
  std::uint64_t activated = 0;                                // its place in the order of wakings
  std::set<std::pair<std::uint64_t, RequestId>> residents{};  // by own tokens; none that move
  std::map<PrefixId, Sharers> prefixes{};

  [[nodiscard]] EngineId id() const { return spec.id; }
  [[nodiscard]] std::int64_t room() const {
    return static_cast<std::int64_t>(usable) - static_cast<std::int64_t>(held);
  }
  [[nodiscard]] std::uint64_t staying() const { return held - leaving; }
  [[nodiscard]] bool busy() const { return coming + going > 0; }
  [[nodiscard]] bool in_use() const { return !residents.empty() || coming > 0; }
};

// Told of each change of an engine after it, and of each change of the reference capacity.
class FleetObserver {
 public:
  virtual ~FleetObserver() = default;
  virtual void engine_changed(Engine& engine) = 0;
  virtual void reference_changed() = 0;
};

class Fleet {
 public:
  using Rooms = std::set<std::pair<std::int64_t, EngineId>>;
  using Requests = std::unordered_map<std::uint64_t, Request>;

  // Without moves an engine is relieved only when it is over its capacity.
  Fleet(const PackerOptions& options, bool moves) : options_(options), moves_(moves) {}
  void observe(FleetObserver* observer) { observer_ = observer; }

  // --- engines -------------------------------------------------------------------------------
  [[nodiscard]] Engine* find(EngineId id);
  [[nodiscard]] Engine& at(EngineId id) { return engines_.find(id)->second; }
  [[nodiscard]] const std::map<EngineId, Engine>& engines() const { return engines_; }
  void join(const EngineSpec& spec);
  void resize(Engine& engine, std::uint64_t kv_tokens);
  void set_state(Engine& engine, EngineState state);
  void remove(Engine& engine);  // nothing is on it, or on its way
  [[nodiscard]] std::size_t count(EngineState state) const {
    return counts_[static_cast<std::size_t>(state)];
  }

  // --- requests ------------------------------------------------------------------------------
  [[nodiscard]] Request* find(RequestId id);
  [[nodiscard]] Request& at(RequestId id) {
    return requests_.find(static_cast<std::uint64_t>(id))->second;
  }
  [[nodiscard]] const Requests& requests() const { return requests_; }
  Request& add(const RequestSpec& spec);
  void erase(Request& request);  // it has no home
  void grow(Request& request, std::uint64_t tokens);

  // --- where requests are; the caller has checked that it may be ---------------------------------
  void settle(Request& request, Engine& home);  // it had none, and is resident
  void unsettle(Request& request);              // from any state: it has none, and waits
  // Both engines hold it from now on; `to` alone, if its KV was dropped and it waits.
  void begin_move(Request& request, Engine& to);
  void drop_source(Request& request);  // of a move: the source does not hold it
  void hold_source(Request& request, Engine& source);
  void end_move(Request& request);    // it is resident
  void abort_move(Request& request);  // it is resident where it came from; it has a source

  // --- room ------------------------------------------------------------------------------------
  // What the engine would hold more with this request, which it does not hold.
  [[nodiscard]] std::uint64_t need(const Request& request, const Engine& engine) const {
    const bool there = request.prefix == no_prefix || engine.prefixes.contains(request.prefix);
    return request.own + (there ? 0 : request.prefix_tokens);
  }
  [[nodiscard]] bool fits(const Request& request, const Engine& engine) const {
    return engine.room() >= static_cast<std::int64_t>(need(request, engine));
  }
  // KV that it has filled, its prefix included: what a move of it copies at most.
  [[nodiscard]] std::uint64_t filled(const Request& request) const {
    return blocks(request.tokens);
  }
  // Whether the KV of its prefix is there and stays: a resident shares it. One that moves away
  // takes it along, and one that comes may yet fail to.
  [[nodiscard]] bool prefix_stays(const Request& request, const Engine& engine) const;
  // The active engine but `except` with the least room (worst: the most) that still suffices for
  // the request and its prefix; of equals the lowest id. `except`, where a move begins, is what
  // best_fit() calls others near to. nullptr: none has room.
  [[nodiscard]] Engine* best_fit(const Request& request, const Engine* except);
  [[nodiscard]] Engine* worst_fit(const Request& request, const Engine* except);
  // The same of active engines that have its prefix, of which the eight with the lowest ids are
  // looked at.
  [[nodiscard]] Engine* prefix_fit(const Request& request, const Engine* except, bool worst);
  // The sleeping engine that costs least to wake, of those that are large enough.
  [[nodiscard]] Engine* sleeper(const Request& request);
  // Active engines by their room.
  [[nodiscard]] const Rooms& rooms() const { return rooms_; }
  // Engines of which more stays than relieved_above.
  [[nodiscard]] const std::set<EngineId>& overloaded() const { return overloaded_; }
  // Active engines that hold nothing, and to which nothing comes.
  [[nodiscard]] const std::set<EngineId>& empty() const { return empty_; }
  [[nodiscard]] const std::set<EngineId>& draining() const { return draining_; }

  // --- sums ------------------------------------------------------------------------------------
  // The largest usable capacity of engines that do not drain; 0 without any.
  [[nodiscard]] std::uint64_t reference() const {
    return usables_.empty() ? 0 : *usables_.rbegin();
  }
  // Whether all of these are equal.
  [[nodiscard]] bool alike() const {
    return usables_.empty() || *usables_.begin() == *usables_.rbegin();
  }
  [[nodiscard]] std::uint64_t held() const { return held_; }
  [[nodiscard]] std::uint64_t engines_in_use() const { return in_use_; }
  [[nodiscard]] std::uint64_t bound() const { return bound_.value(); }
  [[nodiscard]] std::uint64_t looked_at() const { return looked_at_; }
  void look(std::uint64_t entries = 1) { looked_at_ += entries; }

 private:
  // Counts `all` more requests that share the prefix, and more of them that leave and come.
  void share(Engine& engine, const Request& request, int all, int leaving, int coming = 0);
  void hold(Engine& engine, const Request& request);
  void release(Engine& engine, const Request& request);
  void unlist(Engine& engine);  // out of the indexes, before a change
  void list(Engine& engine);
  void index_rooms(const Engine& engine, bool add);
  void count_home(const Request& request, bool add);
  void set_capacity(Engine& engine, std::uint64_t kv_tokens);
  template <typename Change>
  void change(Engine& engine, Change&& apply);
  template <typename Change>
  void change_usable(Change&& apply);
  [[nodiscard]] Engine* first_with(const Rooms& rooms, std::int64_t need, const Engine* except);
  [[nodiscard]] std::uint64_t blocks(std::uint64_t tokens) const {
    return (tokens + options_.block_tokens - 1) / options_.block_tokens * options_.block_tokens;
  }

  const PackerOptions options_;
  const bool moves_;
  FleetObserver* observer_ = nullptr;
  std::map<EngineId, Engine> engines_;
  Requests requests_;
  Rooms rooms_;
  std::map<ServerId, Rooms> server_rooms_;
  std::map<DomainId, Rooms> domain_rooms_;
  std::set<std::pair<double, EngineId>> asleep_;
  std::set<EngineId> overloaded_, empty_, draining_;
  std::multiset<std::uint64_t> usables_;
  std::map<PrefixId, std::set<EngineId>> holders_;
  std::map<PrefixId, std::pair<std::uint64_t, std::uint64_t>> housed_;  // homes, tokens
  BoundIndex bound_;
  std::size_t counts_[3] = {};
  std::uint64_t held_ = 0, in_use_ = 0, arrivals_ = 0, wakings_ = 0, looked_at_ = 0;
};

}  // namespace aqua::packing
