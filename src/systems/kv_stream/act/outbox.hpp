// SPDX-License-Identifier: Apache-2.0
// Outbox is what a Streamer gives: its parcels, and what its carrier has told of each. A carrier
// tells once; here it is remembered for as long as somebody asks.
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "aqua/handoff/carrier.hpp"

namespace aqua::kv_stream {

class Outbox {
 public:
  // The carrier outlives it.
  explicit Outbox(Carrier& carrier) : carrier_(carrier) {}

  [[nodiscard]] Carrier& carrier() const { return carrier_; }
  // As Carrier::open().
  [[nodiscard]] Result<std::uint64_t> open(const ParcelHead& head, const std::string& role);
  // How far it has come; `confirmed` stays, and one that was declined stays `taken`. Any error: it
  // cannot get any further.
  [[nodiscard]] Result<ParcelState> state(std::uint64_t number);
  // failed_precondition: state() has heard that its receiver has declined it.
  [[nodiscard]] Result<void> check_not_declined(std::uint64_t number) const;
  // Nobody asks for it any more.
  void forget(std::uint64_t number) { given_.erase(number); }
  // Takes what the carrier has to tell.
  void hear();

 private:
  Carrier& carrier_;
  std::map<std::uint64_t, std::optional<Delivery>> given_{};
};

}  // namespace aqua::kv_stream
