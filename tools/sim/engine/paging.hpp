// SPDX-License-Identifier: Apache-2.0
// How swapped KV travels: which links, in how many copies.
//
// gathered:  blocks are gathered into a staging window, copied whole, scattered at the other end;
//            two windows, so that gathering the next one overlaps the copy. Each window pays the
//            link's latency, the first one its gather as well. Host and peer alike.
// per_block: one copy for each block of each K and V plane of each layer, one after another; each
//            pays the link's latency. What engines do that call a copy per block.
// stopping:  the engine stops until its copies are over, one after another, at the cost of each
//            that was measured of an engine (cost_fit.hpp).
// free:      pages at no cost: the limit.
#pragma once

#include <cstdint>
#include <vector>

#include "aqua/types.hpp"
#include "tools/sim/engine/network.hpp"
#include "tools/sim/input/spec.hpp"

namespace aqua::sim {

enum class PagingMethod : std::uint8_t { gathered, per_block, stopping, free };

// seconds = latency + bytes * per_byte
struct CopyCost {
  double latency_s = 0;
  double per_byte_s = 0;
  [[nodiscard]] double seconds(double bytes) const { return latency_s + bytes * per_byte_s; }
};

struct PagingPath {
  double latency_s = 0;
  std::vector<LinkId> out{};
  std::vector<LinkId> in{};
};

struct Paging {
  PagingMethod method = PagingMethod::gathered;
  PagingPath peer{};
  PagingPath host{};
  PagingPath lender_host{};  // evacuation (out) and promotion (in) between the peer and the host
  double window_bytes = 64e6;
  double hbm_bytes_per_second = 1e12;
  double copies_per_kv_block = 64;  // per_block: planes
  double kv_block_bytes = 1;        // all planes of a block, one GPU's share
  CopyCost stop_out{}, stop_in{};   // stopping

  // Over before the next iteration begins: nothing travels meanwhile.
  [[nodiscard]] bool at_once() const noexcept {
    return method == PagingMethod::free || method == PagingMethod::stopping;
  }

  [[nodiscard]] const PagingPath& path(Tier tier) const { return tier == Tier::peer ? peer : host; }
  // `bytes` out to or in from a tier.
  [[nodiscard]] Network::Transfer transfer(Tier tier, bool out, double bytes) const;
  // From the peer to the host, or back: contiguous already, by windows.
  [[nodiscard]] Network::Transfer move(Tier to, double bytes) const;
  // Bytes that this GPU's memory reads and writes for each byte copied: gathering (or scattering)
  // reads and writes, the copy reads or writes.
  [[nodiscard]] double hbm_traffic() const noexcept {
    return method == PagingMethod::gathered ? 3 : method == PagingMethod::per_block ? 1 : 0;
  }
};

}  // namespace aqua::sim
