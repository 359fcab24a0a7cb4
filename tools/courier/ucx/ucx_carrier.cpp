// SPDX-License-Identifier: Apache-2.0
#include "tools/courier/ucx/ucx_carrier.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "base/concat.hpp"
#include "base/ids.hpp"
#include "base/try.hpp"
#include "tools/courier/net/sockets.hpp"
#include "tools/courier/ucx/ucx_worker.hpp"
#include "tools/courier/wire/frame.hpp"

namespace aqua::courier {
namespace {

// prepare_ucx() has left UCX out, which may not be loaded once there are other threads.
std::atomic<bool> is_left_out{false};

class OverUcx final : public UcxCarrier {
 public:
  OverUcx(const TlsStream& beside, UcxPoint here, std::unique_ptr<UcxWorker> worker)
      : beside_(beside), here_(std::move(here)), worker_(std::move(worker)) {}

  [[nodiscard]] const UcxPoint& here() const noexcept override { return here_; }

  Result<void> reach(const UcxPoint& there, std::chrono::milliseconds patience) override {
    return or_end(try_to_reach(there, patience));
  }
  Result<void> answer(const UcxPoint& there) override { return or_end(try_to_answer(there)); }
  Result<void> send(std::span<const std::byte> bytes) override { return or_end(post(bytes)); }
  Result<void> read(std::span<std::byte> into) override { return or_end(fetch(into)); }

  Result<int> ready_to_wait() override {
    if (worker_ == nullptr) return *ended_by_;
    auto ready = worker_->ready_to_wait();
    if (!ready.ok()) end(ready.error());
    return ready;
  }

 private:
  // Memory of the caller is good until an error is returned, and no longer. What is asked of this
  // carrier afterwards fails as that did.
  void end(const Error& why) {
    ended_by_ = why;
    worker_.reset();
  }
  Result<void> or_end(Result<void> done) {
    if (!done.ok() && worker_ != nullptr) end(done.error());
    return done;
  }
  Result<void> wait_until(const std::function<Result<bool>()>& done) {
    return worker_->wait(beside_, {.patience = beside_.may_wait()}, done);
  }
  // Says to the other side that it can reach this one.
  Result<void> say_here() {
    head_ = {there_, 0};
    return worker_->post(kUcxHere, head_, {});
  }

  Result<void> try_to_reach(const UcxPoint& there, std::chrono::milliseconds patience) {
    there_ = there.key;
    AQUA_TRY(worker_->connect(there.address));
    AQUA_TRY(say_here());
    return worker_->wait(beside_, {.patience = patience, .is_renewed = false},
                         [&]() -> Result<bool> {
                           AQUA_ASSIGN(const bool said, worker_->is_finished());
                           return said && worker_->arrivals().is_met();
                         });
  }

  Result<void> try_to_answer(const UcxPoint& there) {
    there_ = there.key;
    AQUA_TRY(worker_->connect(there.address));
    bool is_answered = false;
    return worker_->wait(beside_,
                         {.patience = beside_.may_wait(), .is_renewed = false, .or_readable = true},
                         [&]() -> Result<bool> {
                           if (beside_.has_bytes()) return true;
                           if (worker_->arrivals().is_met() && !std::exchange(is_answered, true)) {
                             AQUA_TRY(say_here());
                           }
                           AQUA_TRY(worker_->is_finished());
                           return false;
                         });
  }

  Result<void> post(std::span<const std::byte> bytes) {
    if (worker_ == nullptr) return *ended_by_;
    AQUA_TRY(wait_until([&] { return worker_->is_finished(); }));
    // UCX registers with an RDMA device what it sends, for writing too, and what is sent is mapped
    // for reading alone.
    if (sending_ == nullptr) sending_ = std::make_unique_for_overwrite<std::byte[]>(kMostCarried);
    std::ranges::copy(bytes, sending_.get());
    head_ = {there_, ++sent_};
    AQUA_TRY(worker_->post(kUcxBytes, head_, {sending_.get(), bytes.size()}));
    return wait_until([&] { return worker_->is_finished(); });
  }

  Result<void> fetch(std::span<std::byte> into) {
    if (worker_ == nullptr) return *ended_by_;
    UcxArrivals& arrivals = worker_->arrivals();
    AQUA_TRY(wait_until([&]() -> Result<bool> {
      AQUA_ASSIGN(const bool is_idle, worker_->is_finished());
      return is_idle && arrivals.waiting().has_value();
    }));
    const UcxArrivals::Message& next = *arrivals.waiting();
    if (next.number != ++received_ || next.length != into.size()) {
      return Error{Code::invalid_argument, concat("courier: UCX: message ", next.number, " of ",
                                                  next.length, " bytes, where message ", received_,
                                                  " of ", into.size(), " was announced")};
    }
    AQUA_TRY(worker_->receive(arrivals.take(), into));
    return wait_until([&] { return worker_->is_finished(); });
  }

  const TlsStream& beside_;
  const UcxPoint here_;
  UcxKey there_{};
  UcxHead head_{};  // of what is sent
  std::uint64_t sent_ = 0, received_ = 0;
  std::unique_ptr<std::byte[]> sending_;  // a copy of what is sent
  std::unique_ptr<UcxWorker> worker_;     // nullptr: it has ended
  std::optional<Error> ended_by_;         // and why
};

}  // namespace

void prepare_ucx(CarrierChoice choice) {
  const bool wanted =
      choice == CarrierChoice::ucx || (choice == CarrierChoice::automatic && has_rdma_device());
  if (wanted) (void)load_ucx();
  is_left_out = choice == CarrierChoice::automatic && !wanted;
}

Result<std::unique_ptr<UcxCarrier>> UcxCarrier::open(const TlsStream& beside,
                                                     CarrierChoice choice) {
  if (choice == CarrierChoice::automatic && !has_rdma_device()) {
    return Error{Code::unavailable, "courier: UCX: no RDMA device"};
  }
  if (choice == CarrierChoice::automatic && is_left_out) {
    return Error{Code::unavailable, "courier: UCX: there was no RDMA device when this one started"};
  }
  AQUA_ASSIGN(const UcxLibrary* const ucx, load_ucx());
  UcxPoint here{};
  detail::fill_random(here.key);
  AQUA_ASSIGN(auto worker, UcxWorker::open(*ucx, here.key));
  here.address = worker->address();
  return std::unique_ptr<UcxCarrier>(new OverUcx(beside, std::move(here), std::move(worker)));
}

}  // namespace aqua::courier
