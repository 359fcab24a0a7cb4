// SPDX-License-Identifier: Apache-2.0
// What stands behind a Ticket; see aqua/ticket.hpp for the meaning of each question.
// Implementations allow concurrent calls.
#pragma once

#include <cstddef>

#include "aqua/result.hpp"
#include "aqua/types.hpp"

namespace aqua {

class TicketState {
 public:
  virtual ~TicketState() = default;
  TicketState(const TicketState&) = delete;
  TicketState& operator=(const TicketState&) = delete;

  [[nodiscard]] virtual Result<bool> done() = 0;
  [[nodiscard]] virtual Result<void> wait() = 0;
  virtual void cancel() noexcept = 0;
  [[nodiscard]] virtual Result<bool> layer_done(unsigned layer) = 0;
  [[nodiscard]] virtual Result<void> stream_wait(Stream stream, unsigned layer) = 0;
  [[nodiscard]] virtual std::size_t bytes() const noexcept = 0;

 protected:
  TicketState() = default;
};

}  // namespace aqua
