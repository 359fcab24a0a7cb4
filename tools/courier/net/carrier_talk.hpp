// SPDX-License-Identifier: Apache-2.0
// How two couriers agree on the carrier of their bytes while they greet each other (messages.hpp):
// UCX where both allow it, have it and reach each other by it, else TLS, which never fails to be
// there. The words that are returned say which and why, for the line that tells of the connection;
// they are empty where a courier wants TLS alone.
//
// Threads: as the link's.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "aqua/result.hpp"
#include "tools/courier/net/carrier.hpp"
#include "tools/courier/net/link.hpp"
#include "tools/courier/ucx/ucx_carrier.hpp"

namespace aqua::courier {

// What the side that connects remembers from one connection to the next: where UCX was agreed on
// and has moved nothing of what it was given, bytes go over TLS for a minute.
class CarrierHistory {
 public:
  explicit CarrierHistory(CarrierChoice choice) : choice_(choice) {}

  [[nodiscard]] CarrierChoice choice() const noexcept { return choice_; }
  [[nodiscard]] bool avoids_ucx() const { return std::chrono::steady_clock::now() < until_; }
  // A connection ends.
  void lost(const Link& link);

 private:
  const CarrierChoice choice_;
  std::chrono::steady_clock::time_point until_{};
};

// The side that connects.
class CarrierOffer {
 public:
  CarrierOffer(const Link& link, const CarrierHistory& history);

  // To be said in Hello.
  [[nodiscard]] std::optional<UcxPoint> point() const;
  // After the other side's Welcome. Errors: as Link's.
  [[nodiscard]] Result<std::string> settle(Link& link, const Welcome& welcome);

 private:
  const CarrierChoice choice_;
  std::unique_ptr<UcxCarrier> ucx_;
  std::string why_not_;
};

// The side that listens: says Welcome to who has offered this. Errors: as Link's;
// invalid_argument: the other side does not settle what it has offered.
[[nodiscard]] Result<std::string> welcome(Link& link, CarrierChoice choice,
                                          const std::optional<UcxPoint>& offered);

}  // namespace aqua::courier
