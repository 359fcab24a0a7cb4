// SPDX-License-Identifier: Apache-2.0
// What a process hears, and what orchestrator and processes say to each other, as lines of JSON,
// when the pipeline's group has begun another term:
//
//   Rewire, of the group -> each leaves what it does, and listens under that term      -> Wired
//   Survey  -> how much KV each has, and how much a dead one has left; it acknowledges -> Surveyed
//   Connect -> from where each sequence goes on, and what is read first                -> Wired
//
// Another death at any point begins it all again, under the next term. The group decides who has
// which rank in which term, and when all have left the former one; the orchestrator, who alone
// knows the tokens that were delivered, decides what each sequence goes on from.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/toy_model.hpp"

namespace aqua::pipeline {

struct Rewire {
  Word listen = 0;  // the term
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Rewire, listen)

// A sequence that is to go on.
struct KnownSequence {
  Word sequence = 0;
  std::vector<std::uint32_t> ids{};  // of its prompt, then of the tokens that the client has
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(KnownSequence, sequence, ids)

struct Survey {
  Word term = 0;
  bool survey = true;  // what this is
  std::vector<KnownSequence> sequences{};
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Survey, term, survey, sequences)

// What this process has of one sequence; marks are in the order of the survey.
struct Mark {
  std::uint32_t cached = 0;   // tokens that this process has KV of
  std::uint32_t replica = 0;  // that it can read, of the dead process whose place it has
  bool untouched = true;  // nothing of it was computed or taken here: a streamed prompt may come
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Mark, cached, replica, untouched)

// Copies of replicas, to the keeper and from it, since this was last said.
struct MeasuredCopies {
  Word bytes = 0;
  double seconds = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MeasuredCopies, bytes, seconds)

struct Surveyed {
  Word surveyed = 0;  // the term
  std::vector<Mark> marks{};
  MeasuredCopies copies{};
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Surveyed, surveyed, marks, copies)

struct Resume {
  Word sequence = 0;
  std::uint32_t from = 0;         // each process has KV of so many tokens then
  std::vector<unsigned> reads{};  // stages that read it from what the dead have left
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Resume, sequence, from, reads)

struct Connect {
  Word term = 0;
  std::vector<Resume> sequences{};       // that go on; the blocks of all others are free
  Word begun = 0;                        // all others below this number have ended
  std::vector<std::string> addresses{};  // where each listens, by stage, then by rank
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Connect, term, sequences, begun, addresses)

// It listens; it is connected.
struct Wired {
  Word term = 0;
  bool connected = false;
  std::string address{};  // where it listens
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Wired, term, connected, address)

}  // namespace aqua::pipeline
