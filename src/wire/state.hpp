// SPDX-License-Identifier: Apache-2.0
// The whole ledger for people and placers, without any secret.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.hpp"
#include "ledger/ledger.hpp"
#include "wire/codec.hpp"

namespace aqua::wire {

struct Pair {
  ClientId producer;
  ClientId consumer;
  friend bool operator==(const Pair&, const Pair&) = default;
};
struct Pairs {
  Epoch epoch;
  std::vector<Pair> pairs;
};
struct PairRequest {
  Pair pair;
};

struct State {
  Epoch epoch;
  std::uint64_t last_event = 0;
  std::vector<ledger::Client> clients;
  std::vector<ledger::Slab> slabs;  // secrets are left out, and nil when decoded
  std::vector<Pair> pairs;
  std::vector<ledger::Reclaim> reclaims;
};

}  // namespace aqua::wire
