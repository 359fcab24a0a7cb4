// SPDX-License-Identifier: Apache-2.0
// What a process of these tests says of a parcel's delivery.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "aqua/handoff/carrier.hpp"

namespace aqua::test {

// Waits for the next: its outcome, and the code of a refusal.
inline std::string next_delivered(Carrier& carrier) {
  using Outcome = Delivery::Outcome;
  static const std::map<Outcome, std::string> names{
      {Outcome::confirmed, "confirmed"}, {Outcome::superseded, "superseded"},
      {Outcome::cancelled, "cancelled"}, {Outcome::recalled, "recalled"},
      {Outcome::refused, "refused "},    {Outcome::in_doubt, "in doubt "},
      {Outcome::declined, "declined"}};
  for (;;) {
    const auto all = carrier.deliveries();
    if (!all.empty()) {
      const std::string& name = names.at(all[0].outcome);
      return name.back() == ' ' ? name + std::string(to_string(all[0].error.code)) : name;
    }
    (void)carrier.wait(std::chrono::seconds(1));
  }
}

}  // namespace aqua::test
