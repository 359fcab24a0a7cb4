// SPDX-License-Identifier: Apache-2.0
// Crossed is what a source says to the destination beside the fields of the note, as the note's
// `engine_state`: the ids of the answer that the destination has not been told and, where bytes are
// copied, how they lie in the parcel.
//
// Words are of 32 bits, in the order of the machine, which all engines of a fleet have. Of a
// carrier that copies: how many fills there are, then where each ends. Behind that, and of a pool
// alone: the ids.
//
// Threads: plain data and functions. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/migration/source.hpp"
#include "speech/asked.hpp"

namespace aqua::fleet {

struct Crossed {
  // Each begins where the last one ends, in blocks of the sequence, the first at 0.
  std::vector<std::uint32_t> fills{};
  std::vector<Token> ids{};
};

// Rounds while it decodes, and the rest.
inline constexpr std::size_t kMostFills = migration::SourceMove::kRounds + 1;

[[nodiscard]] std::string state_of(std::span<const Token> ids);
[[nodiscard]] std::string state_of(std::span<const std::uint32_t> fills,
                                   std::span<const Token> ids);
// nullopt: no source says so.
[[nodiscard]] std::optional<Crossed> crossed_of(std::string_view state, bool copied);

}  // namespace aqua::fleet
