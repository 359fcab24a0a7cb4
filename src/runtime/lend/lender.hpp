// SPDX-License-Identifier: Apache-2.0
// Lender is the producer's half of the runtime: it puts slabs up, tells the coordinator,
// and brings them home when they are wanted.
//
// Threads: on_* and step() on the control loop only; the rest from any thread.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lending/exporter.hpp"
#include "runtime/lend/reclaim_state.hpp"
#include "runtime/office.hpp"

namespace aqua::runtime {

// Where a slab goes when it has come home: scrubbed, unmapped, the caller's.
using Homecoming = std::function<void(std::unique_ptr<device::Slab>)>;

class Lender {
 public:
  Lender(Office& office, device::Device& device) : office_(office), device_(device) {}
  // `exporter` outlives the lender's last use of the office; once, before anything else.
  void attach(lending::Exporter& exporter) { exporter_ = &exporter; }

  // Puts slabs of this device up; each goes to `home` in the end.
  void lend(std::vector<std::unique_ptr<device::Slab>> slabs, Homecoming home);
  [[nodiscard]] std::shared_ptr<ReclaimState> reclaim(std::size_t bytes,
                                                      std::chrono::milliseconds deadline);
  // From the exporter's thread: scrubbed, and free to be lent again.
  void on_freed(const lending::SlabStatus& slab);

  // On the client's own thread. To a coordinator that knows nothing everything is declared as
  // the exporter has it, under new generations: what another one granted is void.
  void declare(const southbound::Session& session);
  void on_connected(const southbound::Session& session);
  void on_snapshot(const wire::Snapshot& snapshot);
  void on_event(const ledger::Event& event);
  [[nodiscard]] Clock::time_point step(Clock::time_point now);
  // Withdraws what nobody holds. After the loop and the errands have stopped.
  void close();

  [[nodiscard]] std::size_t lent_bytes() const noexcept {
    return lent_bytes_.load(std::memory_order_relaxed);
  }

 private:
  struct Pending {
    std::shared_ptr<ReclaimState> state;
    std::uint64_t ledger_id = 0;  // 0: the coordinator does not know of it
    bool asking = false;
    bool again = false;    // asked of another coordinator before, which may have known more slabs
    bool limited = false;  // to what is lent beyond earlier reclaims, for want of a coordinator
    bool ending = false;   // its outcome is being asked for
  };

  void put_up(std::vector<std::unique_ptr<device::Slab>> slabs, const Homecoming& home);
  void ask(std::size_t position);
  void on_asked(const std::shared_ptr<ReclaimState>& state,
                Result<ledger::Ledger::ReclaimStart> started);
  void limit_to_lent(std::size_t position);
  void take_free_ones();
  void bring_home(std::span<const std::uint32_t> indexes);
  void bring_home(std::uint32_t index);
  void credit(std::size_t bytes, Clock::time_point now);
  void report_freed(const lending::SlabStatus& slab);
  void end_partially(Pending& pending);
  void offer_missing(const wire::Snapshot& snapshot, std::span<const lending::SlabStatus> ours);
  void forget_row(const ledger::Slab& row);
  // Offers these slabs as the exporter has them now, in the session that has been declared to:
  // an offer that overtook the declaration would be of a generation that it makes void.
  // unavailable without that session; the next one's declaration or snapshot brings them.
  [[nodiscard]] Result<void> tell(std::span<const std::uint32_t> indexes);

  Office& office_;
  device::Device& device_;
  lending::Exporter* exporter_ = nullptr;
  std::atomic<std::size_t> lent_bytes_{0};

  Mutex telling_;  // held during the call; before mu_ and the exporter's
  std::uint64_t session_ AQUA_GUARDED_BY(telling_) = 0;  // the newest that is declared to

  Mutex mu_;
  std::map<std::uint32_t, Homecoming> homes_ AQUA_GUARDED_BY(mu_);

  std::vector<Pending> reclaims_;  // the control loop's
};

// What the exporter knows of a slab, as the ledger wants to hear it. nullopt while it is
// being scrubbed: that is reported when it is done.
[[nodiscard]] std::optional<ledger::OfferedSlab> to_offer(const lending::SlabStatus& slab);

}  // namespace aqua::runtime
