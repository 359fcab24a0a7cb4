// SPDX-License-Identifier: Apache-2.0
// MicrobatchSwap keeps the KV of a pipeline stage's microbatches away from the device but for the
// one that is computed and the one that comes next (DéjàVu, 4.2.2), so that microbatches may be
// larger. What is away lies in memory that neighbours lend, or else in host memory. Whether that
// pays, aqua/kv_stream/swap.hpp says.
//
//   auto swap = aqua::MicrobatchSwap::create(runtime, {.microbatches = 4, .buffers = {a, b}});
//   for (std::uint32_t m = 0; m < 4; ++m) {       // microbatches take turns, again and again
//     auto buffer = swap->begin_turn(stream, m);  // the stream waits for its KV, the host does not
//     launch_step(m, *buffer == 0 ? a : b);       // kernels of yours
//     auto turn = swap->end_turn(writes);         // the blocks that they wrote
//   }
//
// A buffer is device memory of the engine's with the layout of its paged KV cache; each microbatch
// has as many blocks as a buffer, of its own numbers. A block is *held* once a turn has written it,
// until it is dropped. While a microbatch is computed the held blocks of the next one come into the
// other buffer, and behind the kernels the blocks that they wrote go out. With two microbatches
// there is one buffer, and the next comes in when the last is out.
//
// Which bytes count: a turn's kernels read blocks that are held, and may write any. A block that
// they write only in part keeps its other bytes if it was held; else those are undefined.
//
// When bytes are lost (hardware that dies; no process's death loses any), the microbatches are lost
// whose copies were posted from then on until it was noticed: begin_turn() of each, and turn_done()
// of the turns that may have read what was lost, say data_loss. clear() makes one usable again,
// empty. The others go on.
//
// Threads: one at a time. No call waits for a copy or for the device.
// Owns:    what is away. The buffers are the engine's, which keeps them until this is gone. Must be
//          gone before its runtime, and after the kernels that use it.
// Units:   bytes; microbatches and blocks are numbered from 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "aqua/export.h"
#include "aqua/layout.hpp"
#include "aqua/result.hpp"
#include "aqua/types.hpp"

namespace aqua {

class Runtime;

struct MicrobatchSwapOptions {
  std::uint32_t microbatches = 0;  // that take turns: 2 to 1024
  // swap_buffers(microbatches) of them, alike but for their addresses, with no byte in common.
  std::vector<Layout> buffers{};
  std::string name = "microbatch";  // of its tensors, for people
};

struct MicrobatchSwapStatus {
  std::uint64_t turns = 0;       // ended
  std::uint64_t foreseen = 0;    // of those begun: the KV was in a buffer, or on its way
  std::uint64_t unforeseen = 0;  // it had to be asked for then, as of a turn out of order
  // Copies posted so far, in and out.
  std::uint64_t fetched_bytes = 0, written_bytes = 0;
  // What is reserved away from the device, and the part of it in lent memory.
  std::size_t away_bytes = 0, away_peer_bytes = 0;
};

class AQUA_API MicrobatchSwap {
 public:
  //   invalid_argument    an option cannot be; it is named
  //   resource_exhausted  host memory has no room for the exits of what is to be away
  [[nodiscard]] static Result<MicrobatchSwap> create(Runtime& runtime,
                                                     const MicrobatchSwapOptions& options);
  // One that was moved from may only be assigned to or destroyed. Its runtime may be moved.
  MicrobatchSwap(MicrobatchSwap&&) noexcept;
  MicrobatchSwap& operator=(MicrobatchSwap&&) noexcept;
  ~MicrobatchSwap();  // waits for its copies

  // --- a turn -------------------------------------------------------------------------------
  // Has `stream`, on which the turn's kernels are launched, wait until the held blocks of the
  // microbatch are in a buffer, whose number it returns; and has those of the `next` one come in.
  // The other buffer is not for these kernels. Turns on several streams are the caller's to put in
  // order. kInOrder: the next higher number that holds blocks, after the last one the first. Name
  // it where one that holds nothing has its turn next, or where turns go in another order: what was
  // not foreseen comes in when its turn begins.
  //   invalid_argument     a microbatch that is none; the stream
  //   failed_precondition  the turn before has not ended, the stream is being captured into a
  //                        graph, or this process is a fork
  //   data_loss            as said above: clear() it
  // After any other code ask again.
  static constexpr std::uint32_t kInOrder = UINT32_MAX;
  [[nodiscard]] Result<std::uint32_t> begin_turn(Stream stream, std::uint32_t microbatch,
                                                 std::uint32_t next = kInOrder);
  // The kernels are launched, and write these blocks, which are held from now on. Returns the
  // turn's number, from 1 on.
  //   invalid_argument     a block that is none, or listed twice
  //   failed_precondition  no turn was begun; or as begin_turn() has it of the stream
  //   data_loss            the blocks could not go out, or what the turn read is lost: the turn has
  //                        ended without a number, clear() the microbatch
  [[nodiscard]] Result<std::uint64_t> end_turn(BlockList writes);
  // Returns true once everything that the turn's kernels read has come in whole, and what they
  // wrote is safe; false while copies run: ask again, it never waits. data_loss: use nothing that
  // the turn computed. invalid_argument for a turn that has not ended. Any other code: ask again.
  [[nodiscard]] Result<bool> turn_done(std::uint64_t turn);

  // --- between turns ------------------------------------------------------------------------
  // These blocks are not held any more, as those of a request that ended before the others.
  // Blocks that are not held are passed over. invalid_argument, and nothing changes: a microbatch
  // or a block that is none. failed_precondition: its turn has not ended.
  [[nodiscard]] Result<void> drop(std::uint32_t microbatch, BlockList blocks);
  // The microbatch has ended, or is lost: it holds nothing, and its next turn is that of a new one.
  // Others take their turns meanwhile as if it was not there. Errors: as drop()'s; and of one that
  // is lost resource_exhausted: host memory has no room for its new exits, call again.
  [[nodiscard]] Result<void> clear(std::uint32_t microbatch);

  [[nodiscard]] MicrobatchSwapStatus status() const;

 private:
  class AQUA_LOCAL Impl;
  explicit MicrobatchSwap(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace aqua
