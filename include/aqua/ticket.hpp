// SPDX-License-Identifier: Apache-2.0
// Ticket is how one posted transfer is watched: poll it, wait for it, or cancel it.
//
// "Still running" is a state, not an error. A transfer that failed or was cancelled stays
// "still running" until none of its work can touch memory any more; only then is the error
// reported, and from then on always the same one.
//
// Threads: every method may be called concurrently. Only wait() blocks.
// Owns:    a share of the transfer's book-keeping. Dropping a ticket cancels nothing: the
//          transfer runs on. A ticket may outlive the runtime; its transfer is over then.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "aqua/export.h"
#include "aqua/result.hpp"
#include "aqua/types.hpp"

namespace aqua {

namespace detail {
struct Internals;  // how the library reaches what its handles hold; not for engines
}

class TicketState;

class AQUA_API Ticket {
 public:
  Ticket() noexcept;  // belongs to no transfer: every question is failed_precondition
  Ticket(Ticket&&) noexcept;
  Ticket& operator=(Ticket&&) noexcept;
  ~Ticket();

  // Makes one ticket of several. It is done once all of them are, and ends with the first one's
  // error once none of them can touch memory any more; of none it is done. Its layer k is layer k
  // of each.
  [[nodiscard]] static Ticket join(std::vector<Ticket> parts);

  // *done() is true once every byte has arrived, false while work is queued or running. Whether the
  // question was answered is done().ok(); `if (ticket.done())` does not compile.
  //   data_loss  source or destination memory died: recompute the blocks
  //   cancelled  cancel() came first
  //   any other code that is not repeated by the next call: the question failed, ask again
  [[nodiscard]] Result<bool> done() const;

  // Blocks this host thread until done() is true or an error.
  [[nodiscard]] Result<void> wait();

  // Skips what has not started. The bytes of the destination are undefined afterwards (the
  // listed blocks for a fetch, the packed range for an offload); nothing else is touched.
  // No effect once done() was true.
  void cancel() noexcept;

  // Whether this layer's bytes have all arrived. Layers arrive in order, several together
  // when there are many or they are small. invalid_argument for a layer not in the layout.
  [[nodiscard]] Result<bool> layer_done(unsigned layer) const;

  // Work posted to `stream` after this call runs after this layer's bytes have arrived: a fetch's
  // attention kernel of layer 0 need not wait for layer 1, and no host thread waits at all. Of a
  // transfer that fails or is cancelled meanwhile the stream goes on all the same: ask done()
  // before what the work made of the bytes is used.
  //   invalid_argument     a layer not in the layout; while it runs, a stream that is none of the
  //                        transfer's device
  //   failed_precondition  the stream is being captured into a graph
  //   as done()            the transfer is over, and ended badly before this layer
  [[nodiscard]] Result<void> stream_wait(Stream stream, unsigned layer) const;

  // Bytes that the transfer moves in all.
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  friend struct detail::Internals;
  explicit Ticket(std::shared_ptr<TicketState> state) noexcept;
  std::shared_ptr<TicketState> state_;
};

}  // namespace aqua
