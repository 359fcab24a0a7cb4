// SPDX-License-Identifier: Apache-2.0
// The runtime's parts and the order in which they live: each may use those above it.
#pragma once

#include <unistd.h>

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "aqua/runtime.hpp"
#include "runtime/borrow/borrower.hpp"
#include "runtime/copy_curves.hpp"
#include "runtime/copy_news.hpp"
#include "runtime/groups/group_leaver.hpp"
#include "runtime/host_pinning.hpp"
#include "runtime/host_tier.hpp"
#include "runtime/lend/lender.hpp"
#include "runtime/lend/pool_share.hpp"
#include "runtime/lend/producer_role.hpp"
#include "runtime/second_look.hpp"
#include "transfer/transfer.hpp"

namespace aqua {

class Runtime::Impl final : private southbound::Listener {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Impl>> open(const RuntimeOptions& options);
  ~Impl() override;

  [[nodiscard]] Result<void> check_process() const;
  // In the packed form of the range, or else of whole blocks.
  [[nodiscard]] Result<Ticket> move(const Layout& layout, BlockList blocks,
                                    const std::optional<KvRange>& range, AquaTensor& tensor,
                                    Stream stream, std::size_t offset,
                                    transfer::Direction direction);
  [[nodiscard]] Result<Ticket> move_pages(const Layout& layout, BlockList blocks,
                                          const KvRange& range, AquaTensor& tensor,
                                          const TensorPages& pages, Stream stream,
                                          transfer::Direction direction);
  // Prepares a transfer of memory that stays where it is until the transfer is over.
  [[nodiscard]] Result<transfer::Transfer> prepare(transfer::TransferRequest request,
                                                   Stream stream);
  // Once something is queued it throws nothing. What was queued before a refusal is waited for; if
  // the device tells nothing now, the transfer is running() still.
  [[nodiscard]] Result<void> post(transfer::Transfer& transfer, Stream stream);
  [[nodiscard]] Result<void> lend(std::size_t bytes);
  [[nodiscard]] Result<void> report(const LoadReport& report);
  [[nodiscard]] Result<void> set_profile(const LoadProfile& profile,
                                         const ProducerOptions& options);
  [[nodiscard]] MemoryBudget budget(BudgetReason reason) const;
  // Memory that others may have as well is mapped from now on, or not any more.
  void count_shared(std::size_t bytes, bool mapped) noexcept {
    shared_bytes_.fetch_add(mapped ? bytes : 0 - bytes, std::memory_order_relaxed);
  }
  [[nodiscard]] RuntimeStatus status() const;

  [[nodiscard]] std::shared_ptr<runtime::PoolShare> share(
      std::unique_ptr<lending::ElasticPool> pool);

  [[nodiscard]] device::Device& device() noexcept { return *device_; }
  [[nodiscard]] device::Device& host_device() noexcept { return host_->device(); }
  // Bytes of the host tier that are page-locked so far: none but for a GPU.
  [[nodiscard]] std::size_t pinned_bytes() const noexcept {
    return pinning_ ? pinning_->pinned_bytes() : 0;
  }
  [[nodiscard]] tensor::TensorTable& table() noexcept { return *table_; }
  [[nodiscard]] runtime::Lender& lender() noexcept { return lender_; }
  [[nodiscard]] runtime::CallbackQueue& callbacks() noexcept { return callbacks_; }
  [[nodiscard]] const RuntimeOptions& options() const noexcept { return options_; }
  [[nodiscard]] const runtime::Services& services() const noexcept { return services_; }
  [[nodiscard]] const ClientId& id() const noexcept { return id_; }
  [[nodiscard]] runtime::GroupLeaver& group_leaver() noexcept { return group_leaver_; }

 private:
  Impl(RuntimeOptions options, std::unique_ptr<device::Device> device);
  // Prepares and posts it, and takes its pin's tier for the link.
  [[nodiscard]] Result<Ticket> post(transfer::TransferRequest request, const Pin& pin,
                                    Stream stream);
  [[nodiscard]] Result<Ticket> post_pages(const Layout& layout, BlockList blocks,
                                          const KvRange& range, const Pin& pin,
                                          const TensorPages& pages, Stream stream,
                                          transfer::Direction direction);
  [[nodiscard]] Result<void> open_memory();
  [[nodiscard]] Result<void> open_coordinator();
  [[nodiscard]] Result<void> tell_missing_kernels();
  void open_curves();
  [[nodiscard]] runtime::Clock::time_point step(runtime::Clock::time_point now);
  // Tensors that should have gone before.
  void tell_survivors() const;
  void log(LogLevel level, const std::string& text) const;
  void budget_changed(BudgetReason reason);

  void on_connected(const southbound::Session& session) override;
  void on_snapshot(const wire::Snapshot& snapshot) override;
  void on_events(std::span<const ledger::Event> events) override;
  void on_disconnected(const Error& reason) override;
  void on_unreachable(const Error& reason) override;

  const RuntimeOptions options_;
  const pid_t process_ = ::getpid();
  const ClientId id_ = random_id<ClientTag>();
  std::unique_ptr<device::Device> device_;
  std::atomic<std::size_t> shared_bytes_{0};
  runtime::CopyNews copy_news_;
  std::unique_ptr<runtime::HostTier> host_;
  std::unique_ptr<runtime::HostPinning> pinning_;  // null but for a GPU
  std::unique_ptr<runtime::LocalTier> local_;      // null unless asked for
  std::unique_ptr<lending::Importer> importer_;    // these two null unless we borrow
  std::unique_ptr<tensor::Space> peer_;
  std::unique_ptr<tensor::TensorTable> table_;
  std::unique_ptr<tensor::Migrator> migrator_;
  std::unique_ptr<transfer::Mover> mover_;
  std::unique_ptr<runtime::CopyCurves> curves_;  // null where the built-in ones are to serve

  runtime::CallbackQueue callbacks_;
  runtime::SerialQueue coordinator_calls_;
  runtime::SerialQueue unmap_queue_;
  runtime::ControlLoop loop_;
  runtime::Services services_;
  runtime::GroupLeaver group_leaver_;
  runtime::SecondLook second_look_;
  runtime::Lender lender_;
  runtime::ProducerRole producer_;
  std::unique_ptr<lending::Exporter> exporter_;
  std::unique_ptr<runtime::Borrower> borrower_;  // null unless we borrow
  std::unique_ptr<southbound::Client> coordinator_;

  mutable Mutex mu_;
  std::vector<std::weak_ptr<runtime::PoolShare>> pools_ AQUA_GUARDED_BY(mu_);
};

}  // namespace aqua
