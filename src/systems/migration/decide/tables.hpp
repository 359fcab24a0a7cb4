// SPDX-License-Identifier: Apache-2.0
// The three tables of docs/engine/migration.md: what an event does in a state. Where a cell has two
// outcomes, `otherwise` chooses the second.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "aqua/migration/destination.hpp"
#include "aqua/migration/router.hpp"
#include "aqua/migration/source.hpp"

namespace aqua::migration {

template <typename State, typename Command>
class Step {
 public:
  // Cannot happen now.
  constexpr Step() = default;
  constexpr Step(State next, std::initializer_list<Command> commands = {})
      : due_(true), next_(next) {
    assert(commands.size() <= commands_.size());
    for (const Command command : commands) commands_[count_++] = command;
  }
  [[nodiscard]] constexpr bool due() const noexcept { return due_; }
  [[nodiscard]] constexpr State next() const noexcept { return next_; }
  [[nodiscard]] constexpr const Command* begin() const noexcept { return commands_.data(); }
  [[nodiscard]] constexpr const Command* end() const noexcept { return commands_.data() + count_; }

 private:
  bool due_ = false;
  State next_{};
  std::size_t count_ = 0;
  std::array<Command, 3> commands_{};
};

using SourceStep = Step<SourceState, SourceCommand>;
using DestinationStep = Step<DestinationState, DestinationCommand>;
using RouterStep = Step<RouterState, RouterCommand>;

[[nodiscard]] SourceStep step(SourceState state, SourceEvent event, bool otherwise);
[[nodiscard]] DestinationStep step(DestinationState state, DestinationEvent event, bool otherwise);
[[nodiscard]] RouterStep step(RouterState state, RouterEvent event, bool otherwise);

}  // namespace aqua::migration
