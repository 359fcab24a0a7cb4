// SPDX-License-Identifier: Apache-2.0
// What the coordinator tells people and their tools of its past, and what operators ask of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "ledger/ledger.hpp"
#include "wire/codec.hpp"

namespace aqua::wire {

// One thing that happened to a slab.
struct StoryEntry {
  ledger::Time at{};  // crosses as age_ms
  std::string event;  // a SlabEvent's name, or "late": held past a reclaim's deadline
  ledger::SlabState from{};
  ledger::SlabState to{};
  ledger::Generation generation = 0;
  std::optional<ClientId> holder;  // who holds it, or held it until then
  std::string holder_name;
  std::int64_t holder_pid = 0;
  std::uint64_t reclaim = 0;
};

// Oldest first.
struct SlabStory {
  Epoch epoch;
  ledger::SlabId slab;
  std::uint64_t bytes = 0;
  std::uint64_t forgotten = 0;  // entries before the first one here
  std::vector<StoryEntry> entries;
};

// Bytes by state at one time; they stay so until the next sample.
struct Sample {
  ledger::Time at{};  // crosses as age_ms
  std::uint64_t offered = 0;
  std::uint64_t leased = 0;
  std::uint64_t suspect = 0;
  std::uint64_t revoking = 0;
  std::uint64_t orphaned = 0;
  std::uint64_t quarantined = 0;
};
struct History {
  Epoch epoch;
  std::vector<Sample> samples;  // oldest first
};

// An operator wants `bytes` of this producer back with it.
struct RecallRequest {
  ClientId producer;
  std::uint64_t bytes = 0;
  ledger::Time within{};  // from now
};

// Nothing more is granted of this client or to it; what it lends is recalled.
struct DrainRequest {
  ClientId client;
  ledger::Time within{};
};

}  // namespace aqua::wire
