// SPDX-License-Identifier: Apache-2.0
// Prompts whose KV is in the host memory of token pipelines, or on its way there. Memory is taken
// when a prompt begins to be computed, so that what is computed has a place.
//
// Units: tokens of KV in one layer. Requests leave in the order in which they came.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <vector>

#include "tools/sim/pipeline/shape.hpp"

namespace aqua::sim {

class PromptStores {
 public:
  explicit PromptStores(const PipelineShape& shape)
      : microbatch_(shape.token.microbatch), stores_(shape.apart() ? shape.token.pipelines : 0) {
    if (shape.host_bytes == 0) return;
    const std::uint64_t layers = (shape.layers + shape.token.depth - 1) / shape.token.depth;
    const std::uint64_t swapped = shape.swaps ? shape.swaps->host_bytes : 0;
    most_ =
        (shape.host_bytes - std::min(swapped, shape.host_bytes)) / (layers * shape.layer_kv_bytes);
  }

  // Takes memory for so many prompts, which are computed now. The same pipeline until it has a
  // microbatch, then the one with the fewest requests. Nothing: no host has room.
  std::optional<std::uint32_t> take(std::uint64_t tokens, std::uint32_t requests) {
    if (left_ == 0 || !has_room(chosen_, tokens)) {
      std::optional<std::uint32_t> best;
      for (std::uint32_t i = 0; i < stores_.size(); ++i) {
        if (has_room(i, tokens) && (!best || stores_[i].requests < stores_[*best].requests))
          best = i;
      }
      if (!best) return std::nullopt;
      chosen_ = *best;
      left_ = microbatch_;
    }
    left_ -= std::min(left_, requests);
    Store& store = stores_[chosen_];
    store.tokens += tokens;
    store.peak = std::max(store.peak, store.tokens);
    store.requests += requests;
    store.coming += requests;
    return chosen_;
  }
  [[nodiscard]] bool has_room(std::uint32_t store, std::uint64_t tokens) const {
    return stores_[store].tokens + tokens <= most_;
  }

  void arrive(std::uint32_t store, std::uint32_t request) {
    --stores_[store].coming;
    stores_[store].ready.push_back(request);
  }
  // One that ended with its first token.
  void forget(std::uint32_t store, std::uint64_t tokens) {
    --stores_[store].coming;
    --stores_[store].requests;
    stores_[store].tokens -= tokens;
  }
  // The oldest goes to the device; `tokens` are its prompt's.
  std::uint32_t pop(std::uint32_t store, std::uint64_t tokens) {
    const std::uint32_t request = stores_[store].ready.front();
    stores_[store].ready.pop_front();
    stores_[store].tokens -= tokens;
    return request;
  }
  void ended(std::uint32_t store) { --stores_[store].requests; }

  [[nodiscard]] const std::deque<std::uint32_t>& ready(std::uint32_t store) const {
    return stores_[store].ready;
  }
  [[nodiscard]] std::uint32_t coming(std::uint32_t store) const { return stores_[store].coming; }
  [[nodiscard]] std::uint64_t peak_tokens(std::uint32_t store) const { return stores_[store].peak; }

 private:
  struct Store {
    std::deque<std::uint32_t> ready{};
    std::uint64_t tokens = 0, peak = 0;
    std::uint32_t coming = 0;    // computed, or their KV is on its way
    std::uint32_t requests = 0;  // that have not ended
  };
  const std::uint32_t microbatch_;
  std::uint64_t most_ = std::numeric_limits<std::uint64_t>::max() / 2;
  std::vector<Store> stores_;
  std::uint32_t chosen_ = 0, left_ = 0;
};

}  // namespace aqua::sim
