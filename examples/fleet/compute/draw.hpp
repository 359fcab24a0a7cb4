// SPDX-License-Identifier: Apache-2.0
// draw() is the token that follows, by the model's logits: the likeliest at temperature 0, else one
// drawn by (seed, position), so that every engine draws the same.
//
// Threads: a plain function. Pure.
#pragma once

#include <cstdint>
#include <span>

#include "aqua/migration/note.hpp"
#include "speech/asked.hpp"

namespace aqua::fleet {

// `position`: of the token before it, in the sequence. What `never` names is not drawn; it leaves
// some. Of tokens that are equally likely the lowest counts as the likeliest.
[[nodiscard]] Token draw(std::span<const float> logits, const migration::Sampler& sampler,
                         std::uint32_t position, std::span<const Token> never = {});

}  // namespace aqua::fleet
