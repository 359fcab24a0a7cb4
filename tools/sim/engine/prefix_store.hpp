// SPDX-License-Identifier: Apache-2.0
// The prefix cache of a simulated engine: the library's own PrefixIndex, its bytes in the swap
// space beside preempted sequences.
//
// Threads: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "aqua/prefix/prefix_index.hpp"
#include "tools/sim/engine/swap_space.hpp"
#include "tools/sim/input/workload.hpp"

namespace aqua::sim {

class PrefixStore {
 public:
  PrefixStore(prefix::PrefixIndex index, double bytes_per_token)
      : index_(std::move(index)), bytes_per_token_(bytes_per_token) {}

  struct Hit {
    std::uint32_t tokens = 0;
    std::size_t blocks = 0;  // that are held
    Tier tier = Tier::host;
  };
  // What of the prompt is cached; its blocks are held until released. At least one token is
  // computed, so that the blocks may have a token more than the hit. A hit of no token holds none.
  [[nodiscard]] Hit acquire(const Workload& workload, const TraceRequest& request);
  // Takes as many blocks as acquire() held.
  void release(const Workload& workload, const TraceRequest& request, std::size_t blocks);
  // The prompt's KV is there: keeps what is missing, as far as there is room. What is to be
  // copied out, in bytes, and where.
  struct Stored {
    double bytes = 0;
    Tier tier = Tier::host;
  };
  [[nodiscard]] Stored store(const Workload& workload, const TraceRequest& request, SwapSpace& swap,
                             Picos now);
  // Blocks with the peer give way, the oldest first, until `bytes` have room there or none is left
  // that nobody holds.
  void make_room(double bytes, SwapSpace& swap, Picos now);
  // Whether any block is with the peer, most of which would give way.
  [[nodiscard]] bool any_with_peer() const noexcept { return with_peer_ > 0; }

 private:
  void free(std::span<const prefix::BlockHash> gone, SwapSpace& swap, Picos now);

  [[nodiscard]] static prefix::Prefix prefix_of(const Workload& workload,
                                                const TraceRequest& request);

  // In the swap space, apart from sequences.
  static constexpr std::uint64_t kFirstKey = std::uint64_t{1} << 63;

  prefix::PrefixIndex index_;
  double bytes_per_token_;
  struct Place {
    std::uint64_t key = 0;  // in the swap space
    Tier tier = Tier::host;
  };
  std::map<prefix::BlockHash, Place> places_;
  std::size_t with_peer_ = 0;  // of them
  std::uint64_t next_key_ = kFirstKey;
};

}  // namespace aqua::sim
