// SPDX-License-Identifier: Apache-2.0
// Sequence: one request on its way through the paged engine.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "aqua/stream_mark.hpp"
#include "aqua/tensor.hpp"
#include "aqua/ticket.hpp"
#include "check.hpp"
#include "kv_memory.hpp"

namespace aqua::example {

struct Sequence {
  enum class Phase : std::uint8_t {
    waiting,    // has no memory
    resident,   // in the cache
    leaving,    // an offload is under way; its blocks are still taken
    away,       // in its tensor
    returning,  // a fetch is under way, into new blocks
    finishing,  // complete; its bytes are being checked for the last time
  };

  std::uint64_t id = 0;  // unique among a tenant's
  std::uint32_t prompt_tokens = 0;
  std::uint32_t output_tokens = 0;
  std::chrono::steady_clock::time_point arrived{};
  Phase phase = Phase::waiting;
  std::uint32_t computed = 0;   // tokens that have their KV: what is in blocks, or in the tensor
  std::uint32_t generated = 0;  // the last one has no KV yet
  std::vector<std::uint32_t> blocks{};
  AquaTensor tensor{};     // valid from leaving to returning
  Tier tier = Tier::host;  // the tensor's, as the scheduler was last told, or when it was fetched
  Ticket ticket{};
  std::shared_ptr<Check> check{};
  std::uint64_t last_step = 0;  // while it is finishing: the step that completed it
  std::optional<StreamMark> fetch_begin{}, fetch_end{};  // while it is returning

  // All that it would hold now, were memory no limit.
  [[nodiscard]] std::size_t bytes_wanted() const {
    return blocks_for(prompt_tokens + generated) * CacheShape::kBlockBytes;
  }
};

}  // namespace aqua::example
