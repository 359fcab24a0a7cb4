// SPDX-License-Identifier: Apache-2.0
#include "aqua/ticket.hpp"

#include <utility>

#include "transfer/ticket_state.hpp"

namespace aqua {
namespace {

Error no_transfer() {
  return Error{Code::failed_precondition, "ticket: empty or moved from, it belongs to no transfer"};
}

}  // namespace

Ticket::Ticket() noexcept = default;
Ticket::Ticket(std::shared_ptr<TicketState> state) noexcept : state_(std::move(state)) {}
Ticket::Ticket(Ticket&&) noexcept = default;
Ticket& Ticket::operator=(Ticket&&) noexcept = default;
Ticket::~Ticket() = default;

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
