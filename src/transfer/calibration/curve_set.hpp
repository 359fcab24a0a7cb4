// SPDX-License-Identifier: Apache-2.0
// CurveSet: what is known of every link, direction and way of one device.
//
// Threads: immutable once shared.
#pragma once

#include <array>

#include "device/device.hpp"
#include "transfer/calibration/curve.hpp"
#include "transfer/link.hpp"
#include "transfer/way.hpp"

namespace aqua::transfer {

class CurveSet {
 public:
  [[nodiscard]] Curve& at(Link link, Direction direction, Way way) noexcept {
    return of(link).curves[index(direction)][index(way)];
  }
  [[nodiscard]] const Curve& at(Link link, Direction direction, Way way) const noexcept {
    return links_[index(link)].curves[index(direction)][index(way)];
  }
  // Whether the link's curves were measured here; all of a link's are, or none.
  [[nodiscard]] bool measured(Link link) const noexcept { return links_[index(link)].measured; }
  void set_measured(Link link) noexcept { of(link).measured = true; }
  // Takes over all that `other` has measured.
  void merge(const CurveSet& other);

 private:
  struct OfLink {
    std::array<std::array<Curve, kWays.size()>, kDirections.size()> curves{};
    bool measured = false;
  };
  template <typename Enum>
  [[nodiscard]] static constexpr std::size_t index(Enum value) noexcept {
    return static_cast<std::size_t>(value);
  }
  [[nodiscard]] OfLink& of(Link link) noexcept { return links_[index(link)]; }

  std::array<OfLink, kLinks.size()> links_{};
};

// What to go by until this machine is measured. For a GPU: published figures of an H100 with
// NVLink 4 and PCIe 5 (docs/engine/transfers.md). On the emulated GPU and in host memory all copies
// are this CPU's, so that staging only copies twice.
[[nodiscard]] CurveSet builtin_curves(device::Kind kind);

}  // namespace aqua::transfer
