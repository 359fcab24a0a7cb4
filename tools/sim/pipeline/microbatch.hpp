// SPDX-License-Identifier: Apache-2.0
// The requests that go through a pipeline together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tools/sim/pipeline/pass.hpp"
#include "tools/sim/pipeline/shape.hpp"

namespace aqua::sim {

struct Member {
  std::uint32_t request = 0;
  std::uint32_t prompt_left = 0;  // tokens whose KV is not computed yet
  std::uint32_t left = 0;         // tokens that its user has not got yet
  std::uint64_t held = 0;         // tokens that have KV
  std::uint32_t now = 0;          // of the prompt, in the pass under way
  std::uint64_t reserved = 0;     // tokens that it has memory for
  std::uint32_t again = 0;        // tokens to be computed that its user has already

  // The pass under way is lost, and as much as the recovery says.
  void recover(Recovery recovery, std::uint32_t prompt, std::uint32_t output) {
    now = 0;
    if (recovery >= Recovery::restore) return;
    const std::uint32_t given = output - left;
    held = 0;
    prompt_left = prompt + (recovery == Recovery::reprefill ? given : 0);
    again = recovery == Recovery::scratch ? given : 0;
  }
};

struct Microbatch {
  std::uint32_t pipeline = 0, target = 0;
  std::uint64_t number = 0;
  bool lent = false;  // its KV is away in lent memory, where it is swapped
  Picos known = 0;    // when it was formed, or somebody joined it
  std::vector<Member> members{};

  // What the next pass computes: a token of each request whose prompt is done, and prompts, of
  // which `most` tokens at most (0: all of them).
  [[nodiscard]] Pass next_pass(const PassCost& cost, std::uint32_t most) {
    Pass pass;
    std::uint64_t budget = most == 0 ? ~std::uint64_t{0} : most;
    for (Member& member : members) {
      pass.held_tokens += member.held;
      if (member.prompt_left == 0) {
        ++pass.decodes;
        pass.kv_tokens += member.held + 1;
        continue;
      }
      member.now = static_cast<std::uint32_t>(std::min<std::uint64_t>(member.prompt_left, budget));
      if (member.now == 0) continue;
      budget -= member.now;
      ++pass.prompts;
      pass.prompt_tokens += member.now;
      pass.prompt_attention += cost.prompt_attention(member.now, member.held);
      pass.first_tokens += member.now == member.prompt_left ? 1 : 0;
    }
    return pass;
  }

  // The pass is over. Calls got_token(member) for each user that got one.
  template <typename GotToken>
  void passed(GotToken got_token) {
    for (Member& member : members) {
      const bool prompt = member.prompt_left > 0;
      if (prompt && member.now == 0) continue;
      member.held += prompt ? member.now : 1;
      member.prompt_left -= member.now;
      member.now = 0;
      if (member.prompt_left > 0 || member.left == 0) continue;
      if (member.again > 0) {
        --member.again;
        continue;
      }
      --member.left;
      got_token(member);
    }
  }
  // All users have what they asked for.
  [[nodiscard]] bool ended() const {
    return std::ranges::all_of(members, [](const Member& member) { return member.left == 0; });
  }
};

}  // namespace aqua::sim
