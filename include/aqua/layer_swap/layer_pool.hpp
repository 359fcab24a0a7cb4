// SPDX-License-Identifier: Apache-2.0
// LayerPool holds the paged KV of a model's layers in fewer *frames* than there are layers, so that
// the same device memory holds more blocks (Pie, sections 3 and 4). A frame is room for one layer.
// Most layers stay in frames of their own; the others stream through a small ring: each comes in
// before its turn, from memory that neighbours lend or from host memory, and only the blocks that a
// step wrote go back.
//
//   auto pool = aqua::LayerPool::create(runtime, {.layers = 12,
//                                                 .planes_per_layer = 2,
//                                                 .block_bytes = 64_KiB,  // in one plane
//                                                 .device_bytes = 96_MiB,
//                                                 .frames = 8});
//   auto begun = pool->begin_step(stream, reads, writes);  // the blocks of a batch
//   for (std::uint32_t layer = 0; layer < 12; ++layer) {
//     auto planes = pool->begin_layer(layer);  // the stream waits for the layer, the host does not
//     launch_layer(layer, *planes, stream);    // kernels of yours
//     auto ended = pool->end_layer(layer);
//   }
//   auto step = pool->end_step();
//   synchronize(stream);                 // as an engine does that samples tokens
//   auto sound = pool->step_done(*step); // until *sound is true, no token of the step is used
//
// A step is one pass through the layers, in order: begin_step(), then begin_layer() and end_layer()
// around the kernels of each, then end_step(). These post copies and put streams in order. None of
// them waits for a copy, so a host may launch as many steps ahead as it likes.
//
// Every layer has its planes at addresses that never change, so graphs of the kernels between two
// calls stay valid (with the schedule `fifo` it has others from step to step). Planes of streamed
// layers lie in the same memory: what a layer's kernels see at its addresses is its own only
// between its begin_layer() and end_layer(), in stream order. A kernel that works on several layers
// at a time must not.
//
// Which bytes count: a step reads the blocks of `reads` and may write those of `writes`. A block
// that a step writes only in part, as the last one of a sequence, is in both. What a block that is
// only in `writes` held before is undefined afterwards, unless the step writes all of it.
//
// With a `goal` the pool measures its steps and chooses the frames by itself: an engine that has
// its blocks from a BlockPool calls adapt() after each end_step(), and on_resize tells it which
// sequences to preempt and which blocks were moved.
//
// When bytes are lost (hardware that dies; no process's death loses any), the layer has lost its KV
// of every sequence. begin_step(), begin_layer() and step_done() say data_loss from then on. A step
// that was launched already may have read what was lost: use nothing that it computed before
// step_done() says that it is true. discard() makes the pool usable again, with every block empty.
//
// Threads: one at a time.
// Owns:    the frames and what is away. Must be gone before its runtime, and after the kernels that
//          use it.
// Units:   bytes; blocks are numbered from 0 and lie at the same place in every layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "aqua/export.h"
#include "aqua/layer_swap/block_pool.hpp"
#include "aqua/layout.hpp"
#include "aqua/result.hpp"
#include "aqua/ticket.hpp"
#include "aqua/types.hpp"

namespace aqua {

class AquaTensor;
class Runtime;

// What resize() and adapt() tell an engine whose blocks are a BlockPool's.
struct LayerPoolResize {
  std::uint32_t frames = 0;         // that there are to be
  std::uint32_t usable_blocks = 0;  // that they hold
  // Sequences that must leave: copy them out with offload(), or not, and BlockPool::release() them,
  // in the callback or before the next resize() or adapt(). A Scheduler has no call for them: it
  // preempts by itself after set_device_blocks(usable_blocks), and is told lost() of the others.
  std::vector<layer_swap::SequenceId> preempt{};
  // Blocks that were copied, in every layer: the next step uses the new numbers, which
  // BlockPool::blocks_of() has.
  std::vector<layer_swap::BlockMove> moved{};
  bool done = false;  // the frames are there
};

struct LayerPoolOptions {
  // That have KV, all of one size: 3 to 256. Layers without, or that always stay, are left out;
  // those of another size are a pool of their own. Their turns are planned as equally long.
  std::uint32_t layers = 0;
  std::uint32_t planes_per_layer = 0;  // two, or one where keys and values share
  std::size_t block_bytes = 0;         // of one block in one plane
  std::size_t device_bytes = 0;        // of all frames; whole slabs are taken
  std::uint32_t frames = 0;            // at first, from 3 to `layers`; 0: `layers`, nothing is away
  // What adapt() chooses the frames for. Empty: nothing, the caller does. `capacity`: the same
  // memory holds more blocks. `memory`: fewer frames hold the same blocks, and the memory that they
  // leave is lent. With a goal every layer has a frame at first.
  std::string goal{};
  // Called within resize() and adapt() with a BlockPool. It may call offload() and fetch(), and of
  // the BlockPool everything but resize(), take_moves(), moved() and layer_ready().
  std::function<void(const LayerPoolResize&)> on_resize{};
  // Which layers move when. `fixed`: the same in every step, decided beforehand. `fifo`: Pie's own
  // (3.3), to compare with. When a layer begins, of those on the device the one that computed last
  // goes out whole, since its next turn is farthest, and of those away the one whose turn is next
  // comes in; each once the copy before it the same way is seen complete. But the host never waits
  // for a layer that begins and is not there: streams keep the order, and the copies before it
  // count as complete at once, so that the next layers move earlier than the paper's would. A host
  // that launches ahead sees few copies complete, and has its layers late: it had better wait for a
  // layer's kernels before it begins the next. Every layer streams, through all frames; there can
  // be no goal.
  std::string schedule = "fixed";
  // Frames grow by a slab in each plane at a time. A multiple of 2 MiB.
  std::size_t slab_bytes = std::size_t{2} << 20;
  std::string name = "layer pool";  // of its tensors, for people
};

// What an engine knows of a step, for a pool with a goal.
struct StepLoad {
  std::uint32_t blocks_used = 0;    // by sequences that are on the device
  std::uint32_t blocks_wanted = 0;  // by these and by those that wait
};

struct LayerPoolStatus {
  std::uint32_t frames = 0;
  std::uint32_t usable_blocks = 0;
  std::uint32_t streamed_layers = 0;  // the others stay
  std::uint64_t steps = 0;            // ended
  // Copies posted by steps so far. A block counts once for each layer.
  std::uint64_t fetched_bytes = 0;
  std::uint64_t written_bytes = 0;
  // What the streamed layers take off this device, and the part of it in lent memory.
  std::size_t away_bytes = 0;
  std::size_t away_peer_bytes = 0;
  std::uint64_t resizes = 0;
  // What a pool with a goal proposes, why in a word (`start`, `wanted`, `stalls`, `link`,
  // `unpaid`, `not_wanted`, `applied`), and the device's seconds of the steps that were measured:
  // that layers computed and waited for others to come in, and that the link was busy each way.
  std::uint32_t proposed_frames = 0;
  std::string reason{};
  double compute_seconds = 0;
  double stall_seconds = 0;
  double fetch_seconds = 0;
  double write_seconds = 0;
};

class AQUA_API LayerPool {
 public:
  //   invalid_argument    an option cannot be; it is named
  //   resource_exhausted  the device has less memory, or host memory no room for the exits of what
  //                       is to be away
  [[nodiscard]] static Result<LayerPool> create(Runtime& runtime, const LayerPoolOptions& options);
  // One that was moved from may only be assigned to or destroyed. Its runtime may be moved.
  LayerPool(LayerPool&&) noexcept;
  LayerPool& operator=(LayerPool&&) noexcept;
  ~LayerPool();  // waits for its copies

  // Device addresses of a layer's planes, fixed for life: block b is at b * block_bytes. With
  // `fifo` those of the frame that it is in, comes into or leaves, until the next begin_layer(),
  // change of frames or discard(); none of a layer that is away. The bytes there are the layer's
  // only between its begin_layer() and end_layer(). Throws std::out_of_range for a layer that is
  // none.
  [[nodiscard]] std::span<std::byte* const> planes(std::uint32_t layer) const;
  // Blocks that the frames hold: those below may be used.
  [[nodiscard]] std::uint32_t usable_blocks() const noexcept;
  // What so many frames would hold; 0 for fewer than 3, and for more than there are layers.
  [[nodiscard]] std::uint32_t usable_blocks(std::uint32_t frames) const noexcept;

  // --- a step -------------------------------------------------------------------------------
  // Begins a step, whose kernels are launched on `stream`. Kernels of other streams that touch the
  // pool are the caller's to put in order with it. The lists are not needed any more afterwards.
  //   invalid_argument     a block that is not usable, or is listed twice; the stream
  //   failed_precondition  the step before has not ended, the stream is being captured into a
  //                        graph, or this process is a fork
  //   data_loss            as said above
  [[nodiscard]] Result<void> begin_step(Stream stream, BlockList reads, BlockList writes);
  // Has the stream wait until the layer's blocks of `reads` are at its planes, which it returns.
  //   invalid_argument     another layer is next
  //   failed_precondition  no step was begun, or the layer before has not ended, or has copies to
  //                        begin yet (end_layer()); or the layer is streamed, and the stream is
  //                        being captured into a graph
  //   data_loss            as said above; the step cannot go on: discard()
  // and with `fifo`, which moves layers here, those of end_layer(): call it again.
  [[nodiscard]] Result<std::span<std::byte* const>> begin_layer(std::uint32_t layer);
  // The layer's kernels are launched. Errors as begin_layer()'s, and
  //   unavailable          what is away has moved, and others' pins still hold its old place. Said
  //                        at once: no call of a step waits for them
  // After this and any code but those nothing is lost: call it again for this layer.
  [[nodiscard]] Result<void> end_layer(std::uint32_t layer);
  // Returns the step's number, from 1 on. failed_precondition: not every layer has ended, or
  // the last has copies to begin yet.
  [[nodiscard]] Result<std::uint64_t> end_step(const StepLoad& load = {});
  // Returns true once everything that a step's kernels read has come in whole, and what they wrote
  // is safe, of this step and all before; false while copies run: ask again, it never waits. Of
  // what fetch() brought only its own ticket tells: use a step's tokens when that is done, too.
  // After the caller has seen the kernels complete only the few blocks that they wrote can still be
  // on their way. data_loss: use nothing of this step; so for all before a discard().
  // invalid_argument for a step that has not ended. Any other code: ask again.
  [[nodiscard]] Result<bool> step_done(std::uint64_t step);

  // --- between steps ------------------------------------------------------------------------
  // Copies blocks to a tensor and back, for preemption or a prefix cache: in the packed form of a
  // Layout of all layers (aqua/layout.hpp), from `offset` on. In order with `stream` as
  // Runtime::offload() and fetch() to pages are, also for layers that are away, whose bytes do not
  // come in for it. Neither waits for moves, of the tensor and of what is away, nor for pins. The
  // ticket has one layer, which is all of them. That of offload() says that the bytes were copied:
  // that they are those of the steps says step_done() of the last one, asked once the ticket is
  // done.
  //   invalid_argument     a block that is not usable or is listed twice, a tensor too small
  //   failed_precondition  within a step; the stream is being captured into a graph
  //   unavailable          pins from before a move hold the old place of the tensor, of offload(),
  //                        or of what is away. Said at once: call it again. Layers before the one
  //                        that was refused are on their way: the destination may have changed
  //   data_loss            as said above, or the tensor's bytes are gone
  // After any other code the destination may have changed, too.
  [[nodiscard]] Result<Ticket> offload(BlockList blocks, AquaTensor& tensor, Stream stream,
                                       std::size_t offset = 0);
  [[nodiscard]] Result<Ticket> fetch(AquaTensor& tensor, BlockList blocks, Stream stream,
                                     std::size_t offset = 0);
  // What so many blocks take of a tensor.
  [[nodiscard]] std::size_t packed_bytes(std::size_t blocks) const noexcept;

  // Changes the number of frames. Blocks that are usable before and after keep their bytes, in all
  // layers; those at or past the new usable_blocks() must not be needed any more. Unlike a step it
  // waits: for the kernels of the steps so far, for whole layers that are copied, and for mappings.
  // After an error nothing has changed, but after data_loss.
  //   unavailable          some of the memory is lent: Runtime::reclaim() it, which the call with a
  //                        BlockPool does by itself. Or what is away has moved, as of end_layer()
  //   invalid_argument     fewer than 3, more than there are layers, or too many for the memory
  //   failed_precondition  within a step, or while a change with a BlockPool is under way
  //   resource_exhausted   host memory has no room for the exits of what is to be away
  [[nodiscard]] Result<void> resize(std::uint32_t frames);
  // The same with the engine's list of blocks, which has usable_blocks() or fewer. To fewer blocks:
  // the list hands out no more than these at once, sequences that find no room are named to
  // on_resize, the others' blocks are moved, then the frames change. To more: the list has them
  // once every layer has. `stream`: of the copies that on_resize() posts. True when the frames are
  // there; false while blocks are held that were to be given back, or memory is lent that is being
  // taken back: call again. A change that has begun is completed first, and so is what a list gives
  // up already.
  //   invalid_argument    also: a list of other blocks or layers, or not the one that the change
  //                       under way has begun with
  //   resource_exhausted  also: host memory has no room for blocks that are moved. Said before any
  //                       sequence is named, or when such room has died and is taken anew
  //   data_loss           as said above, naming the sequences that have blocks, up to 16 of them.
  //                       Where begin_step() does not say it, what died was room that the change
  //                       had taken: a later call takes it anew
  [[nodiscard]] Result<bool> resize(std::uint32_t frames, layer_swap::BlockPool& blocks,
                                    Stream stream);

  // The frames that the steps measured so far ask for, and where layers lie now; those there are,
  // without a goal. Waits for nothing. Ranks of one model resize() to the most that any of them
  // proposes.
  [[nodiscard]] std::uint32_t propose();
  // Resizes to propose(); does nothing where there are that many frames already. What has no room
  // (resource_exhausted) is not proposed again for long.
  [[nodiscard]] Result<bool> adapt(layer_swap::BlockPool& blocks, Stream stream);

  // Ends the step and the change that are under way, if any are, and empties every block, also
  // after data_loss: release() each of BlockPool::sequences(), whose KV is gone. With `fifo` layers
  // are at other addresses afterwards. Waits as resize() does.
  //   resource_exhausted   host memory has no room for what is away; free some, call it again
  //   failed_precondition  a change of frames could not be undone: destroy this
  [[nodiscard]] Result<void> discard();

  [[nodiscard]] LayerPoolStatus status() const;

 private:
  class AQUA_LOCAL Impl;
  explicit LayerPool(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace aqua
