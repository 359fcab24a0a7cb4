// SPDX-License-Identifier: Apache-2.0
// KeptPrefixes has a prefix cache's blocks in segments of the keeper's, and which prompts it has
// met. kept_prefixes.cpp writes blocks and lets them go, kept_history.cpp writes the prompts, and
// found_prefixes.cpp reads what an earlier cache has left.
//
// Blocks are copied out of their tensors on a stream of its own, behind whatever writes them: no
// call but open() and the patience of write_behind() waits. A copy holds its tensor as any other
// copy of it does, and no longer: a reclaim waits for the segments that are ready at once, at most,
// and never for the keeper or its disk.
//
//   writing --committed--> kept --ready()--> opening --> opened        found by open(): opened
//
// Invariant: a pack is in packs_ exactly while places_ has a block of it, or it is being written.
//
// Threads: one at a time. Owns: segments, and copies in flight. The runtime outlives it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "aqua/handoff/segments.hpp"
#include "aqua/prefix/prefix_index.hpp"
#include "aqua/prefix/prefix_keeping.hpp"
#include "aqua/runtime.hpp"
#include "aqua/side_stream.hpp"
#include "systems/prefix/decide/prefix_history.hpp"

namespace aqua {

class KeptPrefixes {
 public:
  // How the cache's blocks lie in tensors.
  struct Shape {
    std::uint32_t block_tokens = 0;
    std::uint32_t engine_block_tokens = 0;
    std::size_t engine_block_bytes = 0;
    std::string layout{};  // how the engine's cache lies, as text; empty: not known
  };
  // The tensor that has a block of the cache's; null: none has.
  using TensorOf = std::function<AquaTensor*(const prefix::BlockHash&)>;

  // invalid_argument names the option. Without a keeper it keeps nothing, and says so.
  [[nodiscard]] static Result<std::unique_ptr<KeptPrefixes>> open(Runtime& runtime,
                                                                  const PrefixKeeping& options,
                                                                  const Shape& shape);

  // Brings an index that is new to where the earlier cache's was, and returns the blocks that it
  // has then; once.
  [[nodiscard]] std::vector<prefix::BlockHash> restore(prefix::PrefixIndex& index);

  // Whether the bytes of a block are here, and can be read now or once they are open.
  [[nodiscard]] bool has(const prefix::BlockHash& block) const;
  // What the block takes in a tensor, where it can be read now. unavailable: it is being opened,
  // which is asked for here; not_found: it is not here.
  [[nodiscard]] Result<std::size_t> ready(const prefix::BlockHash& block);
  // Posts the copy of a block into a tensor of its size. Before: ready() has said that.
  [[nodiscard]] Result<Ticket> read(const prefix::BlockHash& block, AquaTensor& to, Stream stream);
  // The cache has the block no more.
  void drop(const prefix::BlockHash& block);

  // The cache was asked for this prompt.
  void asked(const prefix::Prefix& prefix);
  // It has stored it: its blocks are to be kept, those that the cache has when their turn comes.
  void stored(const prefix::Prefix& prefix);
  // Takes in what the keeper has said, and posts copies as far as segments are ready; then waits
  // for more until all is kept, or for so long. True: nothing waits.
  bool write_behind(const TensorOf& tensor_of, std::chrono::milliseconds patience = {});
  [[nodiscard]] PrefixKept status() const;

 private:
  enum class State : std::uint8_t { writing, kept, opening, opened };
  struct Pack {
    SegmentName name{};
    std::size_t capacity = 0;
    State state = State::writing;
    std::vector<prefix::BlockHash> blocks{};  // as they lie there; places_ has those that count
    std::size_t live = 0;                     // of them
  };
  using Packs = std::map<std::uint64_t, Pack>;  // by the segment's number
  struct Place {
    std::uint64_t segment = 0;
    std::size_t offset = 0;
    std::size_t bytes = 0;
  };
  struct Offer {
    std::vector<prefix::BlockHash> chain;
    std::size_t tokens = 0;
  };

  KeptPrefixes(const PrefixKeeping& options, const Shape& shape);

  [[nodiscard]] std::size_t block_bytes(std::size_t index, std::size_t tokens) const;
  [[nodiscard]] std::size_t blocks_bytes(std::size_t first, std::size_t end,
                                         std::size_t tokens) const;
  void failed(const Error& why) { error_ = why.message; }
  void hear();
  void committed(const CommittedSegment& outcome);
  void opened(const OpenedSegment& outcome);
  // Enters a pack's blocks, but for those that another pack has.
  void enter(std::uint64_t number, Pack pack, std::size_t first, std::size_t tokens,
             std::size_t offset);
  // Takes out the blocks that are in this pack, and the pack, whose segment has gone.
  void forget(Packs::iterator at);
  // No block counts any more: the segment is dropped, or once it is committed or open.
  void end(Packs::iterator at);

  // Posts what is next of an offer. False: no segment is ready. Nothing is left of the offer where
  // its blocks are all kept, gone, or given up.
  [[nodiscard]] bool write_next(Offer& offer, const TensorOf& tensor_of);
  [[nodiscard]] Result<void> write(const Offer& offer, std::size_t first, std::size_t end,
                                   const Segment& segment, const TensorOf& tensor_of);

  // kept_history.cpp
  // Writes it where many prompts have come since, or any. True: nothing of it waits for a segment
  // that is ready, or for the keeper.
  bool write_history(bool any);
  // The outcome of that, if it is one.
  [[nodiscard]] bool history_committed(const CommittedSegment& outcome);

  // found_prefixes.cpp
  [[nodiscard]] Result<void> find();
  // A segment is open: one of this cache's goes to the others; anything else is let go of.
  struct Found {
    std::vector<prefix::PrefixPack> packs{};
    std::vector<OpenedSegment> segments{};  // that have them
    std::vector<SegmentName> needless{};  // histories that are not the latest, or of another shape
  };
  void look_at(const OpenedSegment& opened, Found& found);
  void take_in(const Found& found);
  [[nodiscard]] bool fits(const prefix::PrefixPack& pack, const SegmentName& name) const;

  const PrefixKeeping options_;
  const Shape shape_;
  const prefix::BlockHash owner_hash_;
  const prefix::BlockHash shape_hash_;
  const std::size_t segment_bytes_;   // of a segment that is kept ready: a block fits
  std::optional<Segments> segments_;  // none: no keeper was there
  std::optional<SideStream> side_;    // copies into segments run on it
  std::unordered_map<prefix::BlockHash, Place> places_;
  Packs packs_;
  std::deque<Offer> offers_;  // the longest waiting first
  std::vector<prefix::PrefixPack> found_;
  prefix::PrefixHistory history_;
  std::uint64_t found_order_ = 0;  // of the history that was found
  std::size_t unwritten_ = 0;      // prompts since it was written
  // The segment that has it, and the one that will; number 0: none.
  SegmentName history_at_{};
  Segment history_next_{};
  std::uint64_t order_ = 0;  // of the last pack or history
  std::size_t bytes_ = 0;    // of all segments in packs_
  std::size_t writing_ = 0;  // packs
  std::size_t found_blocks_ = 0, refused_ = 0;
  std::uint64_t given_up_ = 0;
  std::string error_;
};

}  // namespace aqua
