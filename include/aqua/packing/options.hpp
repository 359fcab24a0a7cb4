// SPDX-License-Identifier: Apache-2.0
// What a packer is made with. The same options serve every policy, so that policies are compared on
// equal terms.
#pragma once

#include <cstdint>

namespace aqua::packing {

struct PackerOptions {
  // The share of an engine's capacity that placements and moves leave free for growth, from 0 up to
  // 0.5. An engine that has grown into more than half of it is relieved down to it. 0: engines are
  // filled, and relieved when they are over their capacity.
  double watermark = 0.05;
  // Requests that one event (an arrival, an end, a change of an engine, an engine over its limit)
  // may move. The moves of an epoch are at most this times the events since the last epoch, or this
  // if there was none. Above 0.
  std::uint32_t max_moves = 10;
  // Tokens of KV that an epoch may move, each request with its prefix. One request may move in an
  // epoch however large it is, so that none is stuck for ever. 0: no limit.
  std::uint64_t max_move_tokens = 0;
  // Rooms are taken for tokens + max_new when a request comes, so that nothing overflows but what
  // goes on beyond max_new. Costs room that short answers never use.
  bool reserve = false;
  // A nearer engine (of the same server, or else the same domain) is chosen for a move when its
  // room is larger than the best's by at most this share of its capacity. 0: fit alone decides.
  double near_slack = 0.05;
  // lb: loads that differ by this share of an engine are balanced. Above 0, at most 1.
  double balance_gap = 0.1;

  std::uint64_t block_tokens = 16;    // tokens in a block, above 0
  std::uint64_t bytes_per_token = 1;  // of KV, over all layers, above 0; moves tell their bytes
};

}  // namespace aqua::packing
