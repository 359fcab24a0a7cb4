// SPDX-License-Identifier: Apache-2.0
// What producers and consumers ask about slabs. Requests name no caller: the session does.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.hpp"
#include "ledger/ledger.hpp"
#include "wire/codec.hpp"
#include "wire/error.hpp"

namespace aqua::wire {

struct OfferRequest {  // all or nothing
  std::vector<ledger::OfferedSlab> slabs;
};

struct WithdrawRequest {  // all or nothing
  std::vector<std::uint32_t> indexes;
};

using ledger::Scrub;
struct ScrubbedRequest {  // each by itself
  std::vector<Scrub> slabs;
};
struct ScrubbedReply {
  Epoch epoch;
  std::vector<Result<ledger::SlabState>> results;  // one for each scrub, in order
};

struct ReclaimRequest {
  std::uint64_t bytes = 0;
  ledger::Time within{};  // from now
};
struct ReclaimReply {
  Epoch epoch;
  ledger::Reclaim reclaim;
  std::vector<ledger::SlabId> withdrawn;  // came back at once; empty when merely asked about
};

struct LeaseRequest {
  std::uint64_t bytes = 0;
  std::uint64_t exit_bytes = 0;
};
struct LeaseReply {
  Epoch epoch;
  std::vector<ledger::Grant> grants;
};

// "I have unmapped this slab."
struct Return {
  ledger::SlabId slab;
  ledger::Generation generation = 0;
};
struct ReturnRequest {  // each by itself
  std::vector<Return> leases;
};
struct ReturnReply {
  Epoch epoch;
  std::vector<Result<void>> results;  // one for each lease, in order
};

}  // namespace aqua::wire
