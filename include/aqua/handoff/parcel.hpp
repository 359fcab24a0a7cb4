// SPDX-License-Identifier: Apache-2.0
// Parcel is the KV cache of one request on its way from one process to another: prefill hands it
// over, decode takes it over. This is the one way by which KV changes process.
//
//   giver: fill the blocks -> hand_over(parcel, role, stream)     the blocks are no longer its own
//   taker: accept() -> decode, append -> finish(), or hand_over() to another role
//
// The contract, whoever carries it (aqua::KvPool within one pool):
//   - It is handed over once the work on the giver's stream is complete, and taken by one process.
//   - It outlives its giver, and waits until somebody of the role takes it or it is cancelled by
//     name. No clock ends it.
//   - If its taker dies before it has finished it, it waits for the next one, with the bytes that
//     it was handed over with. A taker therefore writes behind `tokens` alone.
//   - Of two parcels of one id the one with the higher turn counts: the other goes if it waits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace aqua {

struct Parcel {
  // Names it once it is handed over; of a giver's it is not looked at. Never given twice.
  std::uint64_t number = 0;
  std::string id{};        // of the request: 1 to 256 bytes of printable ASCII
  std::uint64_t turn = 0;  // how often the request has been handed over, or more
  // Where its tokens lie, in their order. Others may share those that the giver shares.
  std::vector<std::uint32_t> blocks{};
  std::uint32_t tokens = 0;  // that are in the blocks
  // The giver's words to the taker, at most 4 KiB: the token that is pending, how to sample.
  std::string note{};
  friend bool operator==(const Parcel&, const Parcel&) = default;
};

}  // namespace aqua
