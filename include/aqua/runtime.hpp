// SPDX-License-Identifier: Apache-2.0
// Runtime: libaqua in one process, for one device. It lends the device's spare memory to
// neighbours, borrows theirs, and keeps AquaTensors in the fastest memory there is.
//
//   auto rt = aqua::Runtime::open(
//       {.device = "cuda:0", .host_bytes = 1_GiB, .max_peer_bytes = 1_GiB});  // $AQUA_COORDINATOR
//   if (!rt.ok()) return fail(rt.error());  // every call below answers in the same way
//   auto swap = rt->allocate({.bytes = 512_MiB, .name = "seq 42"});
//   auto out = rt->offload(layout, blocks, *swap, stream);  // queued; returns a ticket
//   auto back = rt->fetch(*swap, layout, blocks, stream);
//
// Threads: every method may be called concurrently, except destruction. No method waits for
//          a socket, a copy or another process unless its comment says so.
// Fork:    a child must not use the parent's runtime, nor what came from it: allocate, offload,
//          fetch, lend, reclaim and report fail with failed_precondition there.
// Without a coordinator nothing is borrowed and every tensor lies in host memory; when one goes
// away, what is leased stays leased.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "aqua/copy_status.hpp"
#include "aqua/export.h"
#include "aqua/kv_range.hpp"
#include "aqua/layout.hpp"
#include "aqua/northbound/load.hpp"
#include "aqua/northbound/producer_policy.hpp"
#include "aqua/result.hpp"
#include "aqua/tensor.hpp"
#include "aqua/ticket.hpp"
#include "aqua/types.hpp"

namespace aqua {

// How an emulated GPU ("emu:N") behaves. Ignored for other devices.
struct EmulatedGpuOptions {
  std::size_t total_bytes = std::size_t{1} << 30;
  bool hostile = false;  // for tests: seeded delays, closed device memory, slow remapping
  std::uint64_t seed = 1;
  // Rate of its link to host memory, each way, shared by all streams; 0: as fast as the host
  // copies.
  std::uint64_t link_bytes_per_second = 0;
  std::uint64_t peer_bytes_per_second = 0;  // to lent memory; 0: link_bytes_per_second
  bool calibrate = false;  // measure copy times as on a GPU; otherwise built-in ones serve
};

// Part of a tensor that is laid out as a cache is: for each plane of a Layout, one after another,
// `count` pages of one block each, without gaps: planes * count * Layout::plane_block_bytes() bytes
// in all. Block i of a call's list is kept in page pages[i] of every plane. The packed form of n
// blocks is n pages, of which block i has the i-th.
struct TensorPages {
  std::uint32_t count = 0;  // pages in each plane
  BlockList pages{};        // one for each block, each once
  std::size_t offset = 0;   // where the first plane begins in the tensor
};

struct PinnedTensor {
  std::uint64_t id = 0;
  std::string name{};
  unsigned read_pins = 0;
  unsigned write_pins = 0;
  std::chrono::milliseconds age{0};  // of the oldest pin, at most
};

enum class LogLevel : std::uint8_t { info, warning, error };

// Called one at a time, on a thread of the runtime's that does nothing else; or from tick()
// where RuntimeOptions::callbacks_in_tick says so. They may call the runtime. Any may be empty.
struct Callbacks {
  // The engine's share of memory has changed, or (`wanted`) is to change: see BudgetReason.
  std::function<void(const MemoryBudget&)> on_budget{};
  // A tensor's bytes are gone: recompute.
  std::function<void(std::uint64_t id, const std::string& name)> on_data_loss{};
  // A lender wants a slab back by `deadline`, and these tensors' pins are in the way.
  std::function<void(const std::vector<PinnedTensor>&,
                     std::chrono::steady_clock::time_point deadline)>
      on_pins_wanted{};
  // Without it, warnings and errors go to stderr. May come from any thread of the runtime's.
  std::function<void(LogLevel, const std::string&)> on_log{};
};

struct RuntimeOptions {
  // "cuda:N" (as this process counts its GPUs), "GPU-UUID" (as nvidia-smi -L prints it) or
  // "emu:N" (emulated, without a GPU: for tests). Empty: $AQUA_DEVICE, which must then be set.
  // "host" is this server's memory, for published weights that no GPU has: at most a quarter of it
  // in one runtime, which has no coordinator.
  std::string device{};
  // "unix:PATH", "HOST:PORT" or "none". Empty: $AQUA_COORDINATOR, else "none".
  std::string coordinator{};
  // For people. Empty: the program's name.
  std::string name{};
  // NVLink domain; pairs form inside one. Empty: the server's only one.
  std::string domain{};
  // Host tier: taken and touched when opening. Bounds what all tensors take together, since
  // each has its exit reserved here (discardable ones apart). For a GPU it is also page-locked,
  // in the background.
  std::size_t host_bytes = std::size_t{256} << 20;
  // The most to borrow; 0: nothing. Leased ahead of need. Never more than host_bytes, in whole
  // slabs of the lender's (64 MiB): with host_bytes below one slab nothing is ever borrowed.
  std::size_t max_peer_bytes = 0;
  // This device's own memory for tensors, taken when opening. They go there first.
  std::size_t local_bytes = 0;
  // The piece in which lend() gives memory away and gets it back; a multiple of 2 MiB.
  std::size_t slab_bytes = std::size_t{64} << 20;
  // Where the exchange socket is made: a directory of this user's, no link, that nobody else may
  // write to. Empty: $XDG_RUNTIME_DIR/aqua, else /tmp/aqua-UID.
  std::string socket_directory{};
  // Where the copy times measured on this machine are kept, in a file for each GPU. Where it has
  // none that are good they are measured in the background: for about 3 s, with 200 MiB of the
  // GPU's memory. Empty: $XDG_CACHE_HOME/aqua, else ~/.cache/aqua. "off": neither kept nor
  // measured; the planner goes by built-in ones.
  std::string curve_directory{};
  // A file of `aqua profile` (aqua/northbound/profile.hpp). Empty: none. If it is a producer's,
  // open() calls set_profile() with it and default ProducerOptions. If it is a consumer's and
  // max_peer_bytes is 0, open() takes max_peer_bytes from it, and raises host_bytes to as much,
  // since what is borrowed needs an exit. One that is not complete counts for what it has.
  std::string profile{};
  // For reclaims that report() decides. More than a day means a day.
  std::chrono::milliseconds reclaim_deadline{2000};
  bool callbacks_in_tick = false;
  EmulatedGpuOptions emulated{};
  Callbacks callbacks{};
};

// What stands in the way of a reclaim that its deadline ended.
struct Holder {
  std::uint32_t slab = 0;
  std::size_t bytes = 0;
  std::string name{};  // the client's
  std::int64_t pid = 0;
};

struct ReclaimProgress {
  std::size_t bytes_wanted = 0;
  std::size_t bytes_returned = 0;  // scrubbed, and the device's own again
  std::size_t slabs_returned = 0;
  bool done = false;                        // all is back, or the deadline has passed
  std::chrono::microseconds first_slab{0};  // from the call; 0 before
  std::chrono::microseconds last_slab{0};
  std::vector<Holder> holders{};  // when it ended partially; late returns still arrive
};

class ReclaimState;

// Watches one reclaim. Copies watch the same; dropping it stops nothing.
class AQUA_API Reclaim {
 public:
  // Watches none: progress() is never done, and wait() is failed_precondition.
  Reclaim() = default;
  [[nodiscard]] ReclaimProgress progress() const;
  // Blocks until it is done: at the latest 200 ms after its deadline, or up to 5 s after it while
  // what was returned is still being scrubbed, or while the coordinator does not answer.
  //   deadline_exceeded    it ended partially; the message names the holders
  //   failed_precondition  its runtime was closed before it was done
  [[nodiscard]] Result<ReclaimProgress> wait() const;

 private:
  friend struct detail::Internals;
  explicit Reclaim(std::shared_ptr<ReclaimState> state) noexcept : state_(std::move(state)) {}
  std::shared_ptr<ReclaimState> state_;
};

struct TierStatus {
  std::size_t tensors = 0;
  std::size_t tensor_bytes = 0;
  std::size_t capacity_bytes = 0;
};

struct RuntimeStatus {
  std::string device{};
  bool connected = false;    // to the coordinator
  std::string last_error{};  // of the connection
  // Why no more is borrowed, while there is room for more: what the coordinator or a lender
  // answered last. Empty when all that may be borrowed is, and before the first answer.
  std::string not_borrowing{};
  // Calls to the coordinator so far, but for renewals and waiting for events. A few a second, and
  // fewer when nothing changes, are as it should be.
  std::size_t coordinator_calls = 0;
  TierStatus local, peer, host;
  std::size_t lost_tensors = 0;
  std::size_t lent_bytes = 0;   // slabs put up by us, held by others or not
  std::size_t held_bytes = 0;   // of these, in others' hands
  std::size_t promotions = 0;   // tensors moved to faster memory
  std::size_t evacuations = 0;  // tensors moved off slabs that were being reclaimed
  std::size_t promoted_bytes = 0;
  std::size_t evacuated_bytes = 0;
  double peer_fragmentation = 0;  // 0: all free leased memory is one piece
  CopyStatus copies{};
};

// Move-only. Tensors, pools and caches stay with it when it is moved. A Runtime that was moved from
// may only be assigned to or destroyed.
class AQUA_API Runtime {
 public:
  // Blocks until the host tier is touched (about 0.3 s a GiB); does not wait for the
  // coordinator.
  //   invalid_argument     an option cannot be, or no device is named; or the profile's text is bad
  //   resource_exhausted   less memory than an option asks for; or no thread more can be started
  //   permission_denied    the socket directory is not ours alone
  //   unavailable          a GPU, on a machine without one or without a driver
  //   unimplemented        a kind of device that this build does not have
  //   not_found            no such profile
  //   failed_precondition  the profile is not complete, and has no role yet
  [[nodiscard]] static Result<Runtime> open(const RuntimeOptions& options);
  // Gives back what is leased, withdraws what is offered, leaves. Blocks until the transfers in
  // flight and the last uses of pins have ended, and about a second more at most. Every tensor,
  // pool and pin must be gone; memory that others still hold lives on in their hands.
  ~Runtime();
  Runtime(Runtime&&) noexcept;
  Runtime& operator=(Runtime&&) noexcept;  // closes what it held before

  // --- tensors ----------------------------------------------------------------------------
  // Cheap: asks nobody, well under a microsecond of work. See TensorOptions.
  //   invalid_argument    0 bytes
  //   resource_exhausted  the host tier has no room left for the tensor's exit
  [[nodiscard]] Result<AquaTensor> allocate(const TensorOptions& options);
  // Moves the listed blocks between the engine's cache and a tensor, from `offset` on, in
  // the layout's packed form. In stream order; see aqua/layout.hpp and aqua/ticket.hpp.
  // Layout and list are not needed any more afterwards. The tensor must be of this runtime.
  //   invalid_argument     the list, the offset or the stream
  //   data_loss            the tensor's bytes are gone
  //   unavailable          offload() waited 5 s for readers of the tensor's old place, as
  //                        AquaTensor::pin() does: release read pins, and call it again
  //   failed_precondition  the stream is being captured into a graph, or the tensor is empty
  // After any other code (of the device) the destination may have changed, else nothing has.
  [[nodiscard]] Result<Ticket> offload(const Layout& layout, BlockList blocks, AquaTensor& tensor,
                                       Stream stream, std::size_t offset = 0);
  [[nodiscard]] Result<Ticket> fetch(AquaTensor& tensor, const Layout& layout, BlockList blocks,
                                     Stream stream, std::size_t offset = 0);

  // Moves a part of a sequence, whose blocks are listed in the order of its tokens, and nothing
  // else: the tensor's side is the packed form of the range, which another layout may have written.
  // The ticket counts the range's layers from 0.
  //   invalid_argument  also: a range that the blocks do not have
  [[nodiscard]] Result<Ticket> offload(const Layout& layout, BlockList blocks, const KvRange& range,
                                       AquaTensor& tensor, Stream stream, std::size_t offset = 0);
  [[nodiscard]] Result<Ticket> fetch(AquaTensor& tensor, const Layout& layout, BlockList blocks,
                                     const KvRange& range, Stream stream, std::size_t offset = 0);

  // Moves the listed blocks between the engine's cache and these pages of a tensor, in any order;
  // the other pages keep their bytes. Each token and head of a range keeps its place within its
  // page, and the bytes of all others stay as they are: a step's token goes to where its sequence
  // is kept. Never waits for a move of the tensor, so that pages may be written in every step of an
  // engine: while it moves an offload writes both its old and its new place.
  //   invalid_argument  also: pages past their count, or not as many as blocks
  //   unavailable       offload(): pins that were taken before the tensor moved are still held on
  //                     its old place. Said at once; call it again when they are released
  [[nodiscard]] Result<Ticket> offload(const Layout& layout, BlockList blocks, AquaTensor& tensor,
                                       const TensorPages& pages, Stream stream,
                                       const KvRange& range = {});
  [[nodiscard]] Result<Ticket> fetch(AquaTensor& tensor, const TensorPages& pages,
                                     const Layout& layout, BlockList blocks, Stream stream,
                                     const KvRange& range = {});

  // --- lending ------------------------------------------------------------------------------
  // Takes `bytes` of this device's free memory, rounded down to slabs, and has it offered. What
  // cannot be offered after all comes back: on_log says why, on_budget says `reclaimed`.
  //   invalid_argument    less than RuntimeOptions::slab_bytes
  //   resource_exhausted  the device has less free
  [[nodiscard]] Result<void> lend(std::size_t bytes);
  // Wants `bytes` of lent memory back by `deadline` from now, in whole slabs; more than is lent
  // means all, more than a day means a day, and nothing lent is nothing to wait for. Memory of
  // lend() and of pools counts alike. What earlier reclaims still wait for is not asked for twice.
  // invalid_argument when either is 0.
  [[nodiscard]] Result<Reclaim> reclaim(std::size_t bytes, std::chrono::milliseconds deadline);

  // --- northbound ---------------------------------------------------------------------------
  // From now on report() decides when to lend and when to reclaim. invalid_argument when the
  // numbers cannot be.
  [[nodiscard]] Result<void> set_profile(const LoadProfile& profile,
                                         const ProducerOptions& options = {});
  // Tells the engine's load, about once a second; before set_profile() nothing is decided by it. A
  // decision to lend is told by on_budget (`wanted`); a reclaim is begun at once. invalid_argument
  // when the report cannot be true.
  [[nodiscard]] Result<void> report(const LoadReport& report);
  [[nodiscard]] MemoryBudget budget() const;
  // With RuntimeOptions::callbacks_in_tick: runs the callbacks that wait; call it once every few
  // iterations. While one thread is in it, another's call, or a callback's, returns at once.
  // Otherwise it does nothing. With nothing to do it costs nanoseconds.
  void tick();

  [[nodiscard]] RuntimeStatus status() const;

 private:
  friend struct detail::Internals;
  class AQUA_LOCAL Impl;
  explicit Runtime(std::shared_ptr<Impl> impl) noexcept;
  std::shared_ptr<Impl> impl_;  // shared with nobody but the library's own views of it
};

}  // namespace aqua
