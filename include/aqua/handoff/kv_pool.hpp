// SPDX-License-Identifier: Apache-2.0
// KvPool is a KV cache that several processes on one GPU share: the blocks of one model's cache in
// memory that a keeper has, mapped by every member. A request's blocks change process without a
// byte being copied: prefill hands them over, decode accepts them.
//
//   aqua::KvPoolOptions options{.name = "smollm2", .role = "prefill"};
//   options.shape = {.layers = 30, .planes_per_layer = 2, .plane_block_bytes = 6144,
//                    .tokens_per_block = 16, .blocks = 64, .format = "f16 3x64"};
//   auto prefill = aqua::KvPool::attach(*rt, options);  // a keeper runs
//   auto blocks = prefill->allocate(8);                          // local: asks nobody
//   launch_prefill(prefill->layout(), *blocks, stream);          // kernels of yours
//   auto handed = prefill->hand_over({.id = "request 7", .turn = 1, .blocks = *blocks,
//                                     .tokens = 120, .note = "pending token"}, "decode", stream);
//
//   options.role = "decode";  // in another process
//   auto decode = aqua::KvPool::attach(*rt, options);
//   std::vector<aqua::Parcel> parcels;
//   do parcels = decode->accept(4);
//   while (parcels.empty() && decode->wait(std::chrono::seconds(5)));
//   launch_decode(decode->layout(), parcels, stream);
//   auto finished = decode->finish(parcels.front().number, stream);  // its answer is complete
//
// What a process has is nobody else's before it lets go of it or has ended, proven by the kernel.
// Then its blocks are free, and what it had accepted and not finished is accepted by the next one
// of its role (aqua/handoff/parcel.hpp). On a GPU, whose queued work may outlast a process, blocks
// of the dead are quarantined instead, and Parcel::tail_in_doubt says where not to append.
//
// Members trust each other: any of them can write every block, and only what they agree on keeps
// them from it. A pool is for processes of one user and one model.
//
// If the keeper dies, its pools end with it: members keep what they have and compute on, but get no
// further blocks and hand nothing over (undelivered()). They attach anew to get on.
//
// Threads: every method may be called concurrently. None waits for a stream, a socket or another
//          process, but attach(), wait() and the destructor. Two threads of its own do.
// Fork:    a child must not use it.
// Owns:    the mapping, and addresses. Must be gone before its runtime, and no work may be in
//          flight on it then.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "aqua/export.h"
#include "aqua/handoff/carrier.hpp"
#include "aqua/handoff/kv_pool_options.hpp"
#include "aqua/handoff/parcel.hpp"
#include "aqua/layout.hpp"
#include "aqua/result.hpp"
#include "aqua/types.hpp"

namespace aqua {
class Runtime;
}

namespace aqua {

struct KvPoolStatus {
  bool connected = true;      // to the keeper. Once false it stays so
  std::string error{};        // why not, or what the keeper refused last and has not granted since
  std::size_t idle = 0;       // blocks that allocate() has at hand
  std::size_t used = 0;       // given out by it, this member's alone
  std::size_t taken = 0;      // parcels accepted, and not finished or handed on
  std::size_t ready = 0;      // parcels that accept() has at hand
  std::uint32_t waiting = 0;  // parcels at the keeper that it may take, by the last answer
};

// A parcel that was handed over and did not get to the keeper.
struct Undelivered {
  Parcel parcel{};
  std::string role{};
  Error error{};
  // Whether it may have arrived all the same. If so, its blocks are not this member's any more:
  // compute it anew. Otherwise everything is as it was before hand_over().
  bool in_doubt = false;
};

class AQUA_API KvPool final : public Carrier {
 public:
  // Joins the pool, or makes it where there is none of this name; blocks for the keeper, and for
  // the memory.
  //   invalid_argument     an option cannot be
  //   unavailable          no keeper listens, or it does not answer; or another member has been
  //                        making the pool for 5 s
  //   permission_denied    the keeper is another user's
  //   failed_precondition  it has another shape, or lies on another device
  //   resource_exhausted   the device, or the keeper, has no room for it; or no thread more can be
  //                        started
  [[nodiscard]] static Result<KvPool> attach(Runtime& runtime, const KvPoolOptions& options);
  // One that was moved from may only be assigned to or destroyed.
  KvPool(KvPool&&) noexcept;
  KvPool& operator=(KvPool&&) noexcept;
  // Blocks until what was posted so far has ended, and what was handed over is the keeper's; unmaps
  // the pool, and leaves it. Parcels that were not finished wait for the next member of this role.
  ~KvPool() override;

  // The layout of the whole pool. Valid for as long as the pool.
  [[nodiscard]] const Layout& layout() const noexcept;

  // Blocks of this member alone, of undefined content. More are asked for in the background: as
  // many as were refused last come all at once, in their turn (docs/operate/keeper.md), and stay
  // here for this and smaller calls. allocate(0) says that they are not wanted any more.
  // resource_exhausted: not so many are at hand now; wait() and try again, or preempt. More than
  // the pool has there never are.
  [[nodiscard]] Result<std::vector<std::uint32_t>> allocate(std::size_t count);
  // Lets go of blocks of allocate() or share() once the work posted to `stream` so far has ended.
  //   invalid_argument     a block that is not this member's, or is named twice; or the stream
  //   failed_precondition  the stream is being captured; or this process is a fork
  [[nodiscard]] Result<void> release(BlockList blocks, Stream stream);
  // From now on the blocks are read only, and can be in any number of parcels: a common prefix.
  // Blocks of allocate() are still had once. Of what is shared already, or in a parcel that was
  // accepted, this member has one more then, itself. Each is to be released as often.
  // invalid_argument as release().
  [[nodiscard]] Result<void> share(BlockList blocks);

  // Opens a parcel and closes it in one: hands it to whoever has this role, once the work posted to
  // `stream` so far has ended. Its blocks are those of allocate(), which this member has no more
  // then; those that it shares; and those of the parcel of the same id that it has accepted, which
  // ends by this.
  //   invalid_argument     the id, the role, the note, or as release()
  //   failed_precondition  as release()
  //   unavailable          the keeper is away
  // What goes wrong later is told by undelivered().
  [[nodiscard]] Result<void> hand_over(Parcel parcel, const std::string& role, Stream stream);
  // What could not be handed over since the last call: work on the stream failed (data_loss), the
  // keeper refused (aborted: the same id has a higher turn; invalid_argument: the turn is above
  // kMostTurn) or is away.
  // Nobody knows which bytes failed work was about. So all that was handed over behind it and
  // before it is told here comes back, also where a Ticket has told of it; what is handed over
  // afterwards does not. Parcels of open() alike, by deliveries().
  [[nodiscard]] std::vector<Undelivered> undelivered();
  // Parcels for this role, at most so many of those that are at hand, the oldest first. Up to
  // `most` are fetched ahead in the background. They are this member's until finish(). One of an id
  // that this member is handing over, or has open, is held back: it ends once that is closed.
  [[nodiscard]] std::vector<Parcel> accept(std::size_t most) override;
  // A parcel has ended: lets go of its blocks once the work posted to `stream` so far has ended.
  //   not_found            no such parcel is this member's
  //   invalid_argument, failed_precondition   the stream, as release()
  [[nodiscard]] Result<void> finish(std::uint64_t number, Stream stream) override;
  [[nodiscard]] Result<void> decline(std::uint64_t number, Stream stream) override;
  [[nodiscard]] Result<void> decline(std::uint64_t number) override;

  // As Carrier's. A pool needs no room at a taker, and carries no bytes: fill() counts the tokens
  // of a range by the shape, and looks at no heads. Close() takes blocks as hand_over() does. A
  // parcel that continues one that was accepted cannot be recalled (failed_precondition). What is
  // returned (Delivery) is as it was before close(), also where recall() has overtaken that, whose
  // stream is waited for: this member has shared blocks as often as before, less what it has
  // released since.
  [[nodiscard]] Result<std::uint64_t> open(const ParcelHead& head,
                                           const std::string& role) override;
  [[nodiscard]] Result<ParcelState> state(std::uint64_t number) const override;
  [[nodiscard]] Result<Ticket> fill(std::uint64_t number, const KvRange& range, BlockList from,
                                    Stream stream) override;
  [[nodiscard]] Result<void> close(std::uint64_t number, BlockList blocks, std::uint32_t tokens,
                                   std::string note, Stream stream) override;
  [[nodiscard]] Result<void> recall(std::uint64_t number) override;
  [[nodiscard]] std::vector<Delivery> deliveries() override;
  [[nodiscard]] Result<void> admit(const std::string& from, std::uint32_t parcels) override;
  [[nodiscard]] Result<Ticket> land(std::uint64_t number, const KvRange& filled, BlockList into,
                                    const KvRange& at, Stream stream) override;
  [[nodiscard]] Result<void> check_landable(std::uint64_t number, const KvRange& filled,
                                            BlockList into, const KvRange& at) override;
  [[nodiscard]] Result<void> confirm(std::uint64_t number) override;
  [[nodiscard]] std::vector<std::uint64_t> superseded() override;
  [[nodiscard]] std::vector<ParcelHead> cut_off() override;
  [[nodiscard]] bool is_connected() const override;

  // Blocks until there is news for this member since the last call: parcels, blocks, something
  // undelivered, delivered or cut off, or the keeper's end. False: none came within `patience`.
  [[nodiscard]] bool wait(std::chrono::milliseconds patience) override;
  [[nodiscard]] KvPoolStatus status() const;

 private:
  struct AQUA_LOCAL Parts;
  explicit KvPool(std::unique_ptr<Parts> parts) noexcept;
  std::unique_ptr<Parts> parts_;
};

}  // namespace aqua
