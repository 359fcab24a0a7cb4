// SPDX-License-Identifier: Apache-2.0
// Board sorts engines and requests into Mell's classes, and says what breaks its properties.
//
// Classes, by a request's own tokens and C, the largest usable capacity of the fleet: L above C/2,
// M above C/3, S above C/4, T the rest. An engine has the class of its largest request. The natives
// of an engine are what its class is about: an L and at most one S or M beside it, the mate; two M;
// three S. All smaller requests on it are guests, which give way to natives.
// Engines with moves under way, asleep or draining are not on the board.
//
// Threads: not thread-safe.
#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "systems/packing/decide/fleet.hpp"

namespace aqua::packing {

enum class Class : std::uint8_t { tiny, small, medium, large };

class Board final : public FleetObserver {
 public:
  using Rooms = std::set<std::pair<std::uint64_t, EngineId>>;   // room, or order of waking
  using Sizes = std::set<std::pair<std::uint64_t, RequestId>>;  // own tokens

  explicit Board(Fleet& fleet) : fleet_(fleet) { fleet.observe(this); }

  void engine_changed(Engine& engine) override;
  void reference_changed() override;

  [[nodiscard]] Class class_of(std::uint64_t own) const {
    const std::uint64_t c = fleet_.reference();
    return 2 * own > c   ? Class::large
           : 3 * own > c ? Class::medium
           : 4 * own > c ? Class::small
                         : Class::tiny;
  }
  [[nodiscard]] std::uint64_t most_tiny() const { return fleet_.reference() / 4; }
  [[nodiscard]] std::uint64_t most_small() const { return fleet_.reference() / 3; }

  // L-engines without a mate, by what is left beside the L when guests give way.
  [[nodiscard]] const Rooms& single_large() const { return single_large_; }
  // S and M on engines without an L, by size.
  [[nodiscard]] const Sizes& loose() const { return loose_; }
  // M-engines with one M, by what is left beside it when guests give way; the same by waking.
  [[nodiscard]] const Rooms& medium_holes() const { return medium_holes_; }
  [[nodiscard]] const Rooms& recent_medium_holes() const { return recent_medium_holes_; }
  // S-engines with one or two S, likewise.
  [[nodiscard]] const Rooms& small_holes() const { return small_holes_; }
  [[nodiscard]] const Rooms& recent_small_holes() const { return recent_small_holes_; }
  // T-engines by waking; of these the ones less than three quarters full, by room and by waking.
  [[nodiscard]] const Rooms& recent_tiny() const { return recent_tiny_; }
  [[nodiscard]] const Rooms& sparse_tiny() const { return sparse_tiny_; }
  [[nodiscard]] const Rooms& recent_sparse_tiny() const { return recent_sparse_tiny_; }
  // L-, M- and S-engines less than three quarters full, by room.
  [[nodiscard]] const Rooms& thin() const { return thin_; }

  // The properties from which 4/3 follows, but for one hole of each kind.
  [[nodiscard]] bool holds() const;

 private:
  // What an engine has in which set.
  struct Entry {
    std::vector<std::pair<Rooms*, Rooms::value_type>> rooms{};
    std::vector<Sizes::value_type> loose{};
  };
  void put(Entry& entry, Rooms& rooms, std::uint64_t by, EngineId id);
  void clear(Entry& entry);
  void sort(const Engine& engine, Entry& entry);

  Fleet& fleet_;
  std::unordered_map<std::uint64_t, Entry> entries_;  // by engine
  Sizes loose_;
  Rooms single_large_, medium_holes_, recent_medium_holes_, small_holes_, recent_small_holes_,
      recent_tiny_, sparse_tiny_, recent_sparse_tiny_, thin_;
};

}  // namespace aqua::packing
