// SPDX-License-Identifier: Apache-2.0
// What a StreamOut is made of: a parcel to each rank that gets something.
#pragma once

#include <cstdint>
#include <vector>

#include "aqua/kv_stream/streamer.hpp"
#include "systems/kv_stream/decide/stream/note.hpp"
#include "systems/kv_stream/decide/stream/routes.hpp"

namespace aqua::kv_stream {

struct StreamOut::Parts {
  struct Way {
    std::uint64_t parcel = 0;
    std::vector<ShardPiece> pieces{};
  };

  Parts(StreamCarrier& over, StreamNote says, const StreamOutOptions& options, unsigned layers)
      : carrier(over),
        note(std::move(says)),
        blocks(options.blocks.begin(), options.blocks.end()),
        tokens(options.tokens),
        given(layers, false) {}

  // Asks for room at the other end of each route. After an error nothing is left of it.
  [[nodiscard]] Result<void> open(const std::vector<Route>& routes, const std::string& to);
  // Whether all parcels have come as far as this.
  [[nodiscard]] Result<bool> all_are(Carried state) const;
  void recall();

  StreamCarrier& carrier;
  const StreamNote note;
  const std::vector<std::uint32_t> blocks;
  const std::uint32_t tokens;
  std::vector<Way> ways{};
  std::vector<bool> given;  // by layer
  bool finished = false;
};

}  // namespace aqua::kv_stream
