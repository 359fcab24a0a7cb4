// SPDX-License-Identifier: Apache-2.0
// MigrationNote is what the source tells the destination beside the KV or the ids: where the answer
// stands and how it is sampled. It crosses as a parcel's note, of at most 4 KiB. The ids themselves
// lie elsewhere: the router has them.
//
// docs/engine/migration.md has its bytes. State that is the engine's own means nothing here, and is
// carried as it is.
//
// Threads: plain functions. Owns: the values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "aqua/export.h"
#include "aqua/migration/move.hpp"
#include "aqua/result.hpp"

namespace aqua::migration {

inline constexpr std::size_t kMostNoteBytes = 4096;
inline constexpr std::size_t kMostModelBytes = 256;

// Numbers that make no sense to the destination's sampler are its own to refuse.
struct Sampler {
  std::uint64_t seed = 0;  // of sampling.hpp
  float temperature = 1, top_p = 1, min_p = 0;
  std::uint32_t top_k = 0;  // 0: all
  float repetition_penalty = 1, frequency_penalty = 0, presence_penalty = 0;
  friend bool operator==(const Sampler&, const Sampler&) = default;
};

struct MigrationNote {
  Kind kind = Kind::kv;
  Turn turn = 1;                       // under which the source spoke
  std::uint32_t prompt_tokens = 1;     // at least 1
  std::uint32_t generated_tokens = 1;  // at least 1, and the position of the next token
  std::uint32_t kv_tokens = 0;         // whose KV crosses; fewer than prompt and answer together
  std::uint32_t max_new_tokens = 0;    // 0: nobody knows
  std::uint32_t pending_token = 0;     // id of the last one, whose KV is not computed
  Sampler sampler{};
  // For the destination's scheduler (aqua/schedule/sequence.hpp).
  std::uint64_t tenant = 0;
  double weight = 1, lead = 0;
  // What both engines must agree on: model and tokenizer by any name or digest, 1 to 256 bytes of
  // printable ASCII.
  std::string model{};
  // The engine's own: of a guide or a grammar, say.
  std::string engine_state{};
  friend bool operator==(const MigrationNote&, const MigrationNote&) = default;
};

// invalid_argument names the field that cannot be: a number that is no number, too many bytes.
[[nodiscard]] AQUA_API Result<void> check(const MigrationNote& note);
[[nodiscard]] AQUA_API Result<std::string> encode(const MigrationNote& note);
// invalid_argument: not a note, cut short, too long, or it does not pass check(). unimplemented: of
// a version that this library does not read. failed_precondition: it is of another model than
// `model`.
[[nodiscard]] AQUA_API Result<MigrationNote> decode(std::string_view bytes, std::string_view model);

}  // namespace aqua::migration
