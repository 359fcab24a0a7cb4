// SPDX-License-Identifier: Apache-2.0
// TransferState is one transfer from prepare() until its last ticket goes: what it will
// queue, how far it has come, how it ended.
//
//   prepared --post--> running --last group arrived--> over (ok)
//                 \--- refused, failed or cancelled ---> over (error), once quiet
//
// When it is over, it lets go of everything that belongs to the device, so that tickets
// may outlive it.
//
// Threads: every method may be called concurrently; post() once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/mutex.hpp"
#include "transfer/planner.hpp"
#include "transfer/program.hpp"
#include "transfer/staging.hpp"
#include "transfer/ticket_state.hpp"

namespace aqua::transfer {

class TransferState final : public TicketState {
 public:
  struct Parts {
    Program program;
    StagingLease staging;  // held on the staged way only
    Choice choice;
    unsigned max_sms = 0;
    std::shared_ptr<void> keep;
    // The caller's lane is through. For wait() alone, so that polls need not queue behind it.
    std::shared_ptr<device::Event> end;
    // Per lane, recorded after a refusal: what was queued before it is through.
    std::array<EventPool::Pooled, 2> quiet;
    unsigned layers = 0;
    std::size_t bytes = 0;
  };
  TransferState(device::Device& device, Parts parts);

  [[nodiscard]] const Choice& choice() const noexcept { return choice_; }
  // As Device::check_stream().
  [[nodiscard]] Result<void> check_stream(Stream stream) const;
  // Throws nothing once something is queued.
  [[nodiscard]] Result<void> post(Stream stream);
  // Ends a transfer that was never posted, as cancelled. No effect on any other.
  void abandon();
  // Whether it is over, however it ended: advance() asks the device first, is_over() only
  // tells. Neither waits.
  bool advance();
  [[nodiscard]] bool is_over();
  // Posted, and not over as far as is known.
  [[nodiscard]] bool is_running();

  [[nodiscard]] Result<bool> done() override;
  [[nodiscard]] Result<void> wait() override;
  void cancel() noexcept override;
  [[nodiscard]] Result<bool> layer_done(unsigned layer) override;
  [[nodiscard]] Result<void> stream_wait(Stream stream, unsigned layer) override;
  [[nodiscard]] std::size_t bytes() const noexcept override { return bytes_; }

 private:
  enum class Phase : std::uint8_t { prepared, running, over };

  // Asks the device how far it is. Moves what the transfer held into `spent` when it is
  // over, for the caller to drop without the lock. An error is the question's own.
  [[nodiscard]] Result<void> ask(std::optional<Parts>& spent) AQUA_REQUIRES(mu_);
  // Data loss counts as reached: the work is over, badly.
  [[nodiscard]] Result<bool> reached(const device::Event& event) AQUA_REQUIRES(mu_);
  [[nodiscard]] Result<bool> groups_reached() AQUA_REQUIRES(mu_);
  [[nodiscard]] Result<bool> quiet_after_refusal() AQUA_REQUIRES(mu_);
  void refuse(Error error, Stream stream) noexcept AQUA_REQUIRES(mu_);
  void record_quiet() noexcept AQUA_REQUIRES(mu_);
  void wait_after_refusal();
  void finish(std::optional<Parts>& spent) noexcept AQUA_REQUIRES(mu_);

  device::Device& device_;
  const Choice choice_;
  const unsigned layers_;
  const std::size_t bytes_;
  const device::CancelFlag cancel_;

  Mutex mu_;
  Phase phase_ AQUA_GUARDED_BY(mu_) = Phase::prepared;
  Parts parts_ AQUA_GUARDED_BY(mu_);
  bool cancelled_ AQUA_GUARDED_BY(mu_) = false;
  bool refused_ AQUA_GUARDED_BY(mu_) = false;
  Stream stream_ AQUA_GUARDED_BY(mu_);            // it was refused on
  bool waited_out_ AQUA_GUARDED_BY(mu_) = false;  // its streams have ended
  bool quiet_recorded_ AQUA_GUARDED_BY(mu_) = false;
  std::size_t arrived_groups_ AQUA_GUARDED_BY(mu_) = 0;
  unsigned arrived_layers_ AQUA_GUARDED_BY(mu_) = 0;
  std::optional<Error> error_ AQUA_GUARDED_BY(mu_);

  Mutex wait_mu_;  // an event is for one thread at a time; taken without mu_
};

}  // namespace aqua::transfer
