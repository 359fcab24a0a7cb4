// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/engine/paging.hpp"

#include <algorithm>
#include <cmath>

namespace aqua::sim {

Network::Transfer Paging::transfer(Tier tier, bool out, double bytes) const {
  const PagingPath& way = path(tier);
  double delay = 0;
  if (method == PagingMethod::gathered) {
    const double gather = 2 * std::min(bytes, window_bytes) / hbm_bytes_per_second;
    delay = std::ceil(bytes / window_bytes) * way.latency_s + gather;
  } else {
    delay = std::ceil(bytes / kv_block_bytes) * copies_per_kv_block * way.latency_s;
  }
  return {.bytes = bytes, .delay = picos(delay), .links = out ? way.out : way.in};
}

Network::Transfer Paging::move(Tier to, double bytes) const {
  return {.bytes = bytes,
          .delay = picos(std::ceil(bytes / window_bytes) * lender_host.latency_s),
          .links = to == Tier::host ? lender_host.out : lender_host.in};
}

}  // namespace aqua::sim
