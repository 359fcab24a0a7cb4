// SPDX-License-Identifier: Apache-2.0
// What the engine asks of its runtime: moves, lending, load and budget, status.
#include <algorithm>

#include "base/concat.hpp"
#include "base/trace_range.hpp"
#include "base/try.hpp"
#include "lending/take_slabs.hpp"
#include "runtime/impl.hpp"
#include "runtime/options.hpp"

namespace aqua {

using runtime::Clock;

Result<void> Runtime::Impl::check_process() const {
  if (::getpid() == process_) return {};
  return Error{Code::failed_precondition,
               "this runtime belongs to the parent process; open one after fork()"};
}

Result<Ticket> Runtime::Impl::move(const Layout& layout, BlockList blocks,
                                   const std::optional<KvRange>& range, AquaTensor& tensor,
                                   Stream stream, std::size_t offset,
                                   transfer::Direction direction) {
  const TraceRange trace(direction == transfer::Direction::offload ? "aqua offload" : "aqua fetch");
  AQUA_TRY(check_process());
  std::size_t bytes = layout.packed_bytes(blocks.size());
  if (range) {
    AQUA_ASSIGN(bytes, layout.packed_bytes(blocks.size(), *range));
  }
  const Access access = direction == transfer::Direction::offload ? Access::write : Access::read;
  // An empty list moves nothing; the pin then only checks the offset.
  AQUA_ASSIGN(Pin pin, tensor.pin(access, stream, {offset, std::max<std::size_t>(bytes, 1)}));
  return post({.layout = &layout, .blocks = blocks, .range = range, .direction = direction}, pin,
              stream);
}

// The posted work is the last use of the pin, which the caller releases.
Result<Ticket> Runtime::Impl::post(transfer::TransferRequest request, const Pin& pin,
                                   Stream stream) {
  request.tensor = pin.data();
  request.tensor_bytes = pin.bytes();
  request.link = transfer::link_to(pin.tier());
  AQUA_ASSIGN(auto transfer, prepare(std::move(request), stream));
  AQUA_TRY(post(transfer, stream));
  return transfer.ticket();
}

Result<transfer::Transfer> Runtime::Impl::prepare(transfer::TransferRequest request,
                                                  Stream stream) {
  request.stream = stream;
  return mover_->prepare(request);
}

Result<void> Runtime::Impl::post(transfer::Transfer& transfer, Stream stream) {
  auto posted = transfer.post(stream);
  if (copy_news_.any(device_->copy_counts())) loop_.nudge();
  if (!posted.ok()) transfer.settle();  // what was queued is skipped; then the place is quiet
  return posted;
}

Result<void> Runtime::Impl::lend(std::size_t bytes) {
  AQUA_TRY(check_process());
  AQUA_ASSIGN(auto slabs, lending::take_slabs(*device_, bytes, options_.slab_bytes));
  if (options_.coordinator == "none") {
    log(LogLevel::warning, concat("lend: nobody can borrow it: ", runtime::kNoCoordinator));
  }
  producer_.kept_promise();
  lender_.lend(std::move(slabs),
               [](std::unique_ptr<device::Slab>) {});  // destroyed: the device's own again
  return {};
}

MemoryBudget Runtime::Impl::budget(BudgetReason reason) const {
  MemoryBudget budget;
  budget.reason = reason;
  budget.lent_bytes = lender_.lent_bytes();
  budget.peer_bytes = borrower_ != nullptr ? borrower_->leased_bytes() : 0;
  budget.host_bytes = host_->bytes();
  budget.shared_bytes = shared_bytes_.load(std::memory_order_relaxed);
  const std::size_t device_bytes = device_->info().total_bytes;
  budget.engine_bytes = producer_.engine_bytes(
      device_bytes - std::min(device_bytes, budget.shared_bytes), budget.lent_bytes);
  return budget;
}

void Runtime::Impl::budget_changed(BudgetReason reason) {
  if (!options_.callbacks.on_budget) return;
  callbacks_.post([this, reason] { options_.callbacks.on_budget(budget(reason)); });
}

Result<void> Runtime::Impl::set_profile(const LoadProfile& profile,
                                        const ProducerOptions& options) {
  return producer_.set_profile(profile, options);
}

Result<void> Runtime::Impl::report(const LoadReport& report) {
  AQUA_TRY(check_process());
  AQUA_ASSIGN(const Decision decision,
              producer_.observe(report, lender_.lent_bytes(), Clock::now()));
  if (decision.action == ProducerAction::offer) budget_changed(BudgetReason::wanted);
  if (decision.action == ProducerAction::reclaim) {
    producer_.reclaiming(lender_.reclaim(decision.bytes, options_.reclaim_deadline));
  }
  return {};
}

RuntimeStatus Runtime::Impl::status() const {
  RuntimeStatus status;
  status.device = device_->info().name;
  if (coordinator_ != nullptr) {
    const auto connection = coordinator_->status();
    status.connected = connection.connected;
    status.last_error = connection.last_error;
    status.coordinator_calls = connection.calls;
  }
  const auto use = table_->use();
  status.local = {use.local.tensors, use.local.bytes, options_.local_bytes};
  status.peer = {use.peer.tensors, use.peer.bytes,
                 borrower_ != nullptr ? borrower_->leased_bytes() : 0};
  status.host = {use.host.tensors, use.host.bytes, host_->bytes()};
  status.lost_tensors = use.lost.tensors;
  status.lent_bytes = lender_.lent_bytes();
  for (const lending::SlabStatus& slab : exporter_->status()) {
    if (slab.custody == lending::Custody::held) status.held_bytes += slab.bytes;
  }
  if (borrower_ != nullptr) {
    status.not_borrowing = borrower_->not_borrowing();
    const auto moved = borrower_->migrated();
    status.promotions = moved.promotions;
    status.evacuations = moved.evacuations;
    status.promoted_bytes = moved.promoted_bytes;
    status.evacuated_bytes = moved.evacuated_bytes;
    status.peer_fragmentation = peer_->stats().external_fragmentation();
  }
  const device::CopyCounts ran = device_->copy_counts();
  status.copies = {ran.kernel,      ran.batched, ran.each,   ran.unsupported,
                   ran.unreachable, ran.full,    ran.refused};
  return status;
}

}  // namespace aqua
