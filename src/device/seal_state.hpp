// SPDX-License-Identifier: Apache-2.0
// Where a slab stands between its making and its sealing, and what each device refuses for it.
#pragma once

#include "device/device.hpp"

namespace aqua::device {

class SealState {
 public:
  [[nodiscard]] static SealState made_to(SlabUse use) noexcept {
    return SealState(use == SlabUse::lend ? State::lent : State::open);
  }
  [[nodiscard]] static SealState imported(SlabUse use) noexcept {
    return SealState(use == SlabUse::lend ? State::lent : State::sealed);
  }

  [[nodiscard]] bool sealed() const noexcept { return state_ == State::sealed; }
  void seal() noexcept { state_ = State::sealed; }

  // failed_precondition: it was made to lend.
  [[nodiscard]] Result<void> check_seal() const;
  // What sealing answers while it is mapped to be written.
  [[nodiscard]] static Error still_written();
  // failed_precondition: it is to be sealed first.
  [[nodiscard]] Result<void> check_export() const;
  // permission_denied: it is sealed, and would be mapped to be written.
  [[nodiscard]] Result<void> check_map(MapAccess access) const;

 private:
  enum class State : std::uint8_t { lent, open, sealed };
  explicit SealState(State state) noexcept : state_(state) {}

  State state_;
};

}  // namespace aqua::device
