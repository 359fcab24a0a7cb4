// SPDX-License-Identifier: Apache-2.0
#include "parking.hpp"

namespace aqua::llama_example {

Result<Tier> MemoryParking::park(const Seat& seat) {
  Buffer buffer;
  buffer.bytes = engine_.state_bytes(seat.slot);
  buffer.data = std::make_unique_for_overwrite<std::byte[]>(buffer.bytes);
  engine_.save(seat.slot, {buffer.data.get(), buffer.bytes});
  parked_[seat.conversation] = std::move(buffer);
  return Tier::host;
}

Tier MemoryParking::resume(const Seat& seat) {
  const auto found = parked_.extract(seat.conversation);
  engine_.restore(seat.slot, {found.mapped().data.get(), found.mapped().bytes});
  return Tier::host;
}

}  // namespace aqua::llama_example
