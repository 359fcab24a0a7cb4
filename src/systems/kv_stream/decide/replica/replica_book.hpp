// SPDX-License-Identifier: Apache-2.0
// ReplicaBook is what a stage knows of the replicas of its KV: which tokens of each sequence are
// held, which are on their way, what has to be sent next, and which sequences are protected. Tokens
// travel in packs; a pack is *coming* until its holder has it, and *held* then.
//
//   written, nowhere --put()--> coming --held()--> held --held() of a later pack--> held there
//          ^                      | failed()         | failed(), cut(), finish()
//          '----------------------'------------------'
//
// Each token is held by one pack at most, the one that was held last, and is coming with one at
// most. A sequence's watermark is how many of its tokens are held from the first one on without a
// gap: the holder has as much, and what lies beyond a gap is no use to anybody yet.
//
// Threads: one at a time. Pure.
// Units:   tokens.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "systems/kv_stream/decide/replica/token_map.hpp"

namespace aqua::kv_stream {

using SequenceId = std::uint64_t;
using PackId = std::uint64_t;

struct SequenceSpan {
  SequenceId sequence = 0;
  TokenSpan span{};
  friend bool operator==(const SequenceSpan&, const SequenceSpan&) = default;
};

// A pack that is held, and how many of its tokens are needed, and are not on their way to another.
struct PackLoad {
  PackId pack = 0;
  std::uint64_t tokens = 0;
  friend bool operator==(const PackLoad&, const PackLoad&) = default;
};

class ReplicaBook {
 public:
  // A sequence of which more tokens than `lag` are written and not held is not protected.
  explicit ReplicaBook(std::uint32_t lag) : lag_(lag) {}

  // The cache has KV of the first `tokens`; fewer than before change nothing.
  void written(SequenceId sequence, std::uint32_t tokens);
  // What the cache has beyond these tokens is to be another answer's: nobody needs it any more.
  void cut(SequenceId sequence, std::uint32_t tokens);
  // Nobody needs any of it. One that is not known: nothing.
  void finish(SequenceId sequence);

  // The first tokens that are written, not held and not coming. Empty: there are none.
  [[nodiscard]] TokenSpan next(SequenceId sequence) const;
  // They go with this pack. Before: they are written, and not coming; the pack is not held.
  void put(SequenceId sequence, TokenSpan span, PackId pack);
  // A pack's holder has it; or never will, or has it no more.
  void held(PackId pack);
  void failed(PackId pack);

  // What of a held pack is needed and not on its way to another.
  [[nodiscard]] std::vector<SequenceSpan> live(PackId pack) const;
  // The loads of all packs that are held.
  [[nodiscard]] std::vector<PackLoad> loads() const;
  // Packs that are held, and of which nobody needs anything: they are forgotten here.
  [[nodiscard]] std::vector<PackId> take_dead();

  [[nodiscard]] bool knows(SequenceId sequence) const { return sequences_.contains(sequence); }
  // A sequence that is not known has no tokens, watermark 0, and counts as protected.
  [[nodiscard]] std::uint32_t tokens(SequenceId sequence) const;
  [[nodiscard]] std::uint32_t watermark(SequenceId sequence) const;
  [[nodiscard]] bool is_protected(SequenceId sequence) const;

 private:
  struct Sequence {
    std::uint32_t written = 0;
    TokenMap held{};
    TokenMap coming{};
  };
  struct Pack {
    bool held = false;
    std::set<SequenceId> sequences{};  // that were put into it, some of which may be gone
  };
  [[nodiscard]] const Sequence* find(SequenceId sequence) const;
  [[nodiscard]] bool needed(PackId id, const Pack& pack) const;

  const std::uint32_t lag_;
  std::map<SequenceId, Sequence> sequences_{};
  std::map<PackId, Pack> packs_{};
};

}  // namespace aqua::kv_stream
