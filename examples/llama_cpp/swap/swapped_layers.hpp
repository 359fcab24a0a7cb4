// SPDX-License-Identifier: Apache-2.0
// The same conversations by an engine half of whose layers' keys and values are away.
#pragma once

#include "options.hpp"
#include "schedule.hpp"

namespace aqua {
class Runtime;
}

namespace aqua::llama_example {

struct SwappedLayers {
  Served served{};
  unsigned layers = 0, frames = 0, streamed_layers = 0;
  std::size_t resident_bytes = 0;  // that frames for all layers would take
  std::size_t frame_bytes = 0;     // that these take
  std::size_t away_bytes = 0, away_peer_bytes = 0;
  std::uint64_t steps = 0, fetched_bytes = 0, written_bytes = 0;
  // A state that was saved and restored into another slot goes on with the same logits; true where
  // there is one slot.
  bool saved_state_equal = true;
};

// What its runtime needs for it: of the device, and of lent and host memory each.
struct SwapNeeds {
  std::size_t device_bytes = 0, away_bytes = 0;
};
[[nodiscard]] SwapNeeds needs_of_swapping(const Model& model, unsigned slots,
                                          unsigned tokens_per_slot);

// `reference` is the model as it was loaded for the other runs. Throws Failure.
[[nodiscard]] SwappedLayers serve_with_layers_away(
    Runtime& runtime, const std::filesystem::path& file, const Model& reference,
    const std::vector<ChatRequest>& requests, const Options& options, unsigned tokens_per_slot,
    const std::function<void(const Progress&)>& each_turn);

}  // namespace aqua::llama_example
