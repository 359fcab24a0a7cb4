// SPDX-License-Identifier: Apache-2.0
// Bytes by the tier that the tensor was in.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "aqua/types.hpp"

namespace aqua::example {

struct TierBytes {
  std::uint64_t peer = 0;
  std::uint64_t host = 0;

  void add(Tier tier, std::uint64_t bytes) { (tier == Tier::peer ? peer : host) += bytes; }
  [[nodiscard]] std::uint64_t sum() const { return peer + host; }
  TierBytes& operator+=(const TierBytes& more) {
    peer += more.peer;
    host += more.host;
    return *this;
  }
  friend TierBytes operator-(const TierBytes& all, const TierBytes& part) {
    return {all.peer - part.peer, all.host - part.host};
  }
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TierBytes, peer, host)

}  // namespace aqua::example
