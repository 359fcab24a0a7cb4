// SPDX-License-Identifier: Apache-2.0
// ReplicaCatalogue says, of the packs of one owner that its holder has, how much KV of a sequence
// they make up: its watermark. Only what was computed from the ids that are known counts. So what
// was replicated beyond the tokens that were delivered, of an answer that nobody has seen, is cut
// off; and it does not matter in which term or by which process a pack was written.
//
// Threads: one at a time. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "systems/kv_stream/decide/replica/pack.hpp"
#include "systems/kv_stream/decide/replica/token_ids.hpp"

namespace aqua::kv_stream {

// An entry of a pack, of which the tokens up to `end` are of use.
struct CoverPiece {
  std::uint64_t pack = 0;
  const PackEntry* entry = nullptr;
  std::uint32_t first = 0;  // of its tokens, that the pieces before do not have
  std::uint32_t end = 0;
  std::uint64_t token_bytes = 0;  // as its pack's
};

class ReplicaCatalogue {
 public:
  void add(std::uint64_t pack, Pack&& content);

  // Sequences of which a pack has an entry, whatever the ids of its tokens; in ascending order.
  [[nodiscard]] std::vector<std::uint64_t> sequences() const;
  // Pieces that make up KV of as many tokens as there are, from the first on, without a gap. An
  // entry is read as a whole: one that ends behind `room` tokens, which is how many the blocks have
  // room for, does not count. Pieces are good until add().
  [[nodiscard]] std::vector<CoverPiece> cover(std::uint64_t sequence, const TokenIds& known,
                                              std::uint32_t room) const;
  // The latest state of the sampler behind ids that are known. None: no pack says one.
  [[nodiscard]] std::optional<SamplerState> sampler(std::uint64_t sequence,
                                                    const TokenIds& known) const;

 private:
  std::map<std::uint64_t, Pack> packs_{};
  struct At {
    std::uint64_t pack = 0;
    const PackEntry* entry = nullptr;
  };
  std::map<std::uint64_t, std::vector<At>> sequences_{};
};

}  // namespace aqua::kv_stream
