// SPDX-License-Identifier: Apache-2.0
// Mover moves listed KV blocks between an engine's cache and a tensor, in stream order.
//
//   AQUA_ASSIGN(auto transfer, mover.prepare({.layout = &layout, .blocks = blocks, ...}));
//   AQUA_TRY(transfer.post(stream));
//   Ticket ticket = transfer.ticket();
//
// prepare() validates and allocates; post() only queues; the ticket checks; destructors
// release and never wait, in flight or not.
//
// Order:   everything happens after the work posted to `stream` before post(), and before
//          the work posted to it afterwards, whichever way is taken.
// Threads: every method of Mover may be called concurrently; a Transfer is its caller's.
// Owns:    staging memory on the device. Borrows the device, which must outlive it.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "aqua/kv_range.hpp"
#include "aqua/layout.hpp"
#include "aqua/result.hpp"
#include "aqua/ticket.hpp"
#include "aqua/types.hpp"
#include "base/mutex.hpp"
#include "device/device.hpp"
#include "transfer/batch_pool.hpp"
#include "transfer/event_pool.hpp"
#include "transfer/planner.hpp"
#include "transfer/staging.hpp"

namespace aqua::transfer {

struct MoverOptions {
  std::optional<Way> way{};  // unset: the planner decides for each transfer
  // What the planner goes by; null: the built-in ones for this kind of device.
  std::shared_ptr<const CurveSet> curves{};
  unsigned max_sms = 0;  // for kernels: 0 is the device's default, over a link or within its memory
  // Layers are reported in at most this many groups, each of which is expected to take min_group or
  // longer: it costs a launch, whose beginning and end leave the link idle, and an event.
  unsigned max_layer_groups = 16;
  std::chrono::microseconds min_group{200};
  // Larger pieces are split; those of ranges and pages are refused.
  std::size_t max_copy_bytes = std::size_t{64} << 20;
  StagingOptions staging{};
};

// A tensor that is paged itself, as another cache is: its planes lie in the tensor.
struct PagedTensor {
  const Layout* layout = nullptr;  // borrowed, as the list, until prepare() returns
  BlockList blocks{};
  KvRange range{};  // as large as the cache's
};

struct TransferRequest {
  const Layout* layout = nullptr;  // borrowed until prepare() returns
  BlockList blocks{};              // borrowed until prepare() returns
  std::byte* tensor = nullptr;     // where the tensor is now; must stay until the ticket is over
  std::size_t tensor_bytes = 0;
  std::size_t offset = 0;          // of the packed form within the tensor
  std::optional<KvRange> range{};  // its packed form; unset: that of whole blocks
  // Instead of the packed form, whose offset then means nothing. Never staged.
  std::optional<PagedTensor> paged{};
  Direction direction = Direction::offload;
  Link link = Link::host;  // where the tensor is now
  // The stream that it will be posted to, for what that stream does not take. Posting to
  // another one is correct, but perhaps not by the way that was chosen.
  Stream stream{};
  std::optional<Way> way{};  // overrides MoverOptions::way
  // Dropped, on the thread that notices, once no work can touch memory any more: a pin, say.
  std::shared_ptr<void> keep{};
};

class TransferState;
class Mover;

class Transfer {
 public:
  Transfer(Transfer&&) noexcept;
  Transfer& operator=(Transfer&&) noexcept;
  ~Transfer();  // releases what was prepared if post() was never called

  // Queues the work; once only (failed_precondition). Refused with the same code, and still
  // to be posted, where `stream` is being captured into a graph; with invalid_argument where it is
  // another one on every thread. Any other error means that nothing
  // will move beyond what had already started when a later step was refused: the rest is cancelled,
  // only the destination may have changed, and the ticket tells when it is quiet and then repeats
  // the error. Where memory runs out it throws only while nothing is queued.
  [[nodiscard]] Result<void> post(Stream stream);
  // Whether work that was queued may touch memory still, as far as is known.
  [[nodiscard]] bool running() const;
  // Waits for what was queued before post() was refused, also where there is no memory. It may be
  // running() all the same where the device tells nothing now, as while a graph is captured.
  void settle() noexcept;

  // Before post(): not done.
  [[nodiscard]] Ticket ticket() const;
  [[nodiscard]] Way way() const noexcept { return choice().way; }
  // The way, why, and what the others would have taken.
  [[nodiscard]] const Choice& choice() const noexcept;

 private:
  friend class Mover;
  Transfer(Mover& mover, std::shared_ptr<TransferState> state) noexcept;
  Mover* mover_;
  std::shared_ptr<TransferState> state_;
  bool posted_ = false;
};

class Mover {
 public:
  explicit Mover(device::Device& device, const MoverOptions& options = {});
  // Waits for the transfers in flight. Unposted ones must be gone already.
  ~Mover();
  Mover(const Mover&) = delete;
  Mover& operator=(const Mover&) = delete;

  //   invalid_argument    a null, a block list that Layout::check() refuses, a packed form or
  //                       pages that do not fit the tensor, a range that the blocks do not have,
  //                       or ends that differ in what they are of
  //   permission_denied   some of the destination is mapped read-only
  //   resource_exhausted  staging was asked for by name and none is free (when it was only
  //                       chosen, the next best way is taken instead)
  [[nodiscard]] Result<Transfer> prepare(const TransferRequest& request);

  // What the planner goes by from now on; not null.
  void use(std::shared_ptr<const CurveSet> curves);
  // What prepare() would choose for this request, with staging free; moves nothing and needs no
  // tensor. invalid_argument for a block list that Layout::check() refuses.
  [[nodiscard]] Result<Choice> choose_for(const TransferRequest& request) const;

  // Lets go of what finished transfers hold (staging, TransferRequest::keep). Never waits. Also
  // done by every prepare(); call it now and then where no prepare comes.
  void sweep();
  // Transfers posted and not yet seen to be over.
  [[nodiscard]] std::size_t in_flight() const;

 private:
  friend class Transfer;
  void adopt(std::shared_ptr<TransferState> state);
  // `whole`: bytes of a piece, where pieces cannot be split; else 0.
  [[nodiscard]] Job job_of(const TransferRequest& request, const Pieces& pieces, std::size_t whole,
                           bool may_be_staged) const;
  [[nodiscard]] Choice choice_of(const Job& job, std::optional<Way> wanted) const;
  [[nodiscard]] Result<StagingLease> staging_for(Choice& choice, Job& job);

  device::Device& device_;
  const MoverOptions options_;
  StagingPool staging_;
  const std::shared_ptr<BatchPool> lists_ = std::make_shared<BatchPool>();
  const std::shared_ptr<EventPool> events_;
  mutable Mutex mu_;
  std::shared_ptr<const CurveSet> curves_ AQUA_GUARDED_BY(mu_);
  std::vector<std::shared_ptr<TransferState>> in_flight_ AQUA_GUARDED_BY(mu_);
};

}  // namespace aqua::transfer
