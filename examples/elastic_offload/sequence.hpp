// Sequence: one request on its way through the toy engine.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "aqua/tensor.hpp"
#include "aqua/ticket.hpp"
#include "check.hpp"
#include "kv_cache.hpp"

namespace aqua::example {

struct Sequence {
  enum class Phase : std::uint8_t {
    waiting,    // has no memory yet
    resident,   // in the cache, generating
    leaving,    // an offload is under way; its blocks are still taken
    away,       // in its tensor
    returning,  // a fetch is under way, into new blocks
    finishing,  // complete; its bytes are being checked for the last time
  };

  std::uint64_t id = 0;  // unique among a tenant's
  std::uint32_t prompt_tokens = 0;
  std::uint32_t output_tokens = 0;
  Phase phase = Phase::waiting;
  std::uint32_t generated = 0;
  std::uint32_t run = 0;  // tokens generated since it last came into the cache
  std::vector<std::uint32_t> blocks{};
  AquaTensor tensor{};     // valid from leaving to returning
  Tier tier = Tier::host;  // the tensor's, when it was fetched
  Ticket ticket{};
  std::shared_ptr<Check> check{};

  [[nodiscard]] std::uint32_t tokens() const { return prompt_tokens + generated; }
  [[nodiscard]] std::uint32_t final_blocks() const {
    return blocks_for(prompt_tokens + output_tokens);
  }
  [[nodiscard]] std::size_t bytes() const { return blocks_for(tokens()) * CacheShape::kBlockBytes; }
};

}  // namespace aqua::example
