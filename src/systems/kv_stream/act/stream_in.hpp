// SPDX-License-Identifier: Apache-2.0
// What a StreamIn is made of: parts of its sequence on their way into blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "aqua/kv_stream/streamer.hpp"

namespace aqua::kv_stream {

struct StreamIn::Parts {
  [[nodiscard]] Result<void> check(unsigned layer) const;

  Carrier& carrier;
  std::vector<std::uint64_t> parcels{};  // that are to be confirmed
  // What brings each layer, each ticket of one layer. The streamer asks them, too.
  std::shared_ptr<std::vector<Ticket>> layers = std::make_shared<std::vector<Ticket>>();
};

}  // namespace aqua::kv_stream
