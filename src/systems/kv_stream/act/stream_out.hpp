// SPDX-License-Identifier: Apache-2.0
// What a StreamOut is made of: a parcel to each rank that gets something.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "aqua/kv_stream/streamer.hpp"
#include "systems/kv_stream/act/outbox.hpp"
#include "systems/kv_stream/decide/stream/note.hpp"
#include "systems/kv_stream/decide/stream/routes.hpp"

namespace aqua::kv_stream {

struct StreamOut::Parts {
  struct Way {
    std::uint64_t parcel = 0;
    std::vector<ShardPiece> pieces{};
  };

  Parts(std::shared_ptr<Outbox> over, const Layout& of, StreamNote says,
        const StreamOutOptions& options)
      : outbox(std::move(over)),
        layout(of),
        note(std::move(says)),
        blocks(options.blocks.begin(), options.blocks.end()),
        tokens(options.tokens),
        given(of.layers(), false) {}

  // Asks for room at the other end of each route. After an error nothing is left of it.
  [[nodiscard]] Result<void> open(const std::vector<Route>& routes, const std::string& to);
  // cancelled: they were taken back.
  [[nodiscard]] Result<void> check_recalled() const;
  // Whether all parcels have come as far as this.
  [[nodiscard]] Result<bool> all_are(ParcelState least) const;
  void recall();
  // A call to the carrier has failed, `is_first` of those that belong together. A stream that is
  // none, or is captured, the first one refuses, and nothing has changed then. After any other
  // error they are taken back, as half of a layer, or of a sequence, is nobody's.
  void recall_unless_refused(const Error& error, bool is_first);
  void forget();

  const std::shared_ptr<Outbox> outbox;
  const Layout& layout;
  const StreamNote note;
  std::vector<std::uint32_t> blocks;  // none: they are not known yet
  const std::uint32_t tokens;
  std::vector<Way> ways{};
  std::vector<Ticket> copies{};  // out of the blocks
  std::vector<bool> given;       // by layer
  bool finished = false;
  bool recalled = false;
};

// invalid_argument, which names the call: blocks that are none, or too few for so many tokens.
[[nodiscard]] Result<void> check_room(const char* call, const Layout& layout, BlockList blocks,
                                      std::uint64_t tokens);

}  // namespace aqua::kv_stream
