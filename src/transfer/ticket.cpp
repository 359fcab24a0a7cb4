// SPDX-License-Identifier: Apache-2.0
#include "aqua/ticket.hpp"

#include <optional>
#include <utility>

#include "base/try.hpp"
#include "transfer/ticket_state.hpp"

namespace aqua {
namespace {

Error no_transfer() {
  return Error{Code::failed_precondition, "ticket: empty or moved from, it belongs to no transfer"};
}

// What stands behind join(). A part that failed is over, but the memory of the others may still be
// in use: until they are over as well, the whole is running.
class JoinedTickets final : public TicketState {
 public:
  explicit JoinedTickets(std::vector<Ticket> parts) noexcept : parts_(std::move(parts)) {}

  [[nodiscard]] Result<bool> done() override {
    bool over = true;
    std::optional<Error> first;
    for (const Ticket& part : parts_) {
      auto arrived = part.done();
      if (arrived.ok()) over = over && *arrived;
      if (!arrived.ok() && !first) first = std::move(arrived).error();
    }
    if (over && first) return *std::move(first);
    return over;
  }
  [[nodiscard]] Result<void> wait() override {
    Result<void> first;
    for (Ticket& part : parts_) {
      auto waited = part.wait();
      if (first.ok()) first = std::move(waited);
    }
    return first;
  }
  void cancel() noexcept override {
    for (Ticket& part : parts_) part.cancel();
  }
  [[nodiscard]] Result<bool> layer_done(unsigned layer) override {
    bool all = true;
    for (const Ticket& part : parts_) {
      AQUA_ASSIGN(const bool arrived, part.layer_done(layer));
      all = all && arrived;
    }
    return all;
  }
  [[nodiscard]] Result<void> stream_wait(Stream stream, unsigned layer) override {
    for (const Ticket& part : parts_) AQUA_TRY(part.stream_wait(stream, layer));
    return {};
  }
  [[nodiscard]] std::size_t bytes() const noexcept override {
    std::size_t all = 0;
    for (const Ticket& part : parts_) all += part.bytes();
    return all;
  }

 private:
  std::vector<Ticket> parts_;
};

}  // namespace

Ticket::Ticket() noexcept = default;
Ticket::Ticket(std::shared_ptr<TicketState> state) noexcept : state_(std::move(state)) {}
Ticket::Ticket(Ticket&&) noexcept = default;
Ticket& Ticket::operator=(Ticket&&) noexcept = default;
Ticket::~Ticket() = default;

Ticket Ticket::join(std::vector<Ticket> parts) {
  return Ticket(std::make_shared<JoinedTickets>(std::move(parts)));
}

Result<bool> Ticket::done() const {
  return state_ ? state_->done() : no_transfer();
}
Result<void> Ticket::wait() {
  return state_ ? state_->wait() : no_transfer();
}
void Ticket::cancel() noexcept {
  if (state_) state_->cancel();
}
Result<bool> Ticket::layer_done(unsigned layer) const {
  return state_ ? state_->layer_done(layer) : no_transfer();
}
Result<void> Ticket::stream_wait(Stream stream, unsigned layer) const {
  return state_ ? state_->stream_wait(stream, layer) : no_transfer();
}
std::size_t Ticket::bytes() const noexcept {
  return state_ ? state_->bytes() : 0;
}

}  // namespace aqua
