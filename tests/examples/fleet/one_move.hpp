// SPDX-License-Identifier: Apache-2.0
// One answer that is ordered to move, by engines and a router that die or stop at a named step of
// the move.
//
// Threads: one.
#pragma once

#include <signal.h>
#include <stdlib.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/examples/fleet/rig.hpp"

namespace aqua::fleet::test {

inline const std::vector<std::string> kPace{"--iteration-ms", "5"};
inline constexpr std::uint32_t kQuestion = 7, kAnswerTokens = 300, kMovesAfter = 20;

// The arguments of an engine that raises `signal`, SIGKILL or SIGSTOP, at `step`.
[[nodiscard]] inline std::vector<std::string> armed(const std::string& step, int signal) {
  std::vector<std::string> line = kPace;
  line.insert(line.end(), {"--die-at", step});
  if (signal == SIGSTOP) line.emplace_back("--stop");
  return line;
}

// A router that raises `signal` the first time that it comes to `step`. Its program is
// dying_router.
[[nodiscard]] inline RouterProcess dying_router(const std::string& program,
                                                const std::vector<std::string>& engines,
                                                const std::string& step, int signal) {
  ::setenv("AQUA_DIES_AT", step.c_str(), 1);
  ::setenv("AQUA_DIES_OF", std::to_string(signal).c_str(), 1);
  RouterProcess router(engines, {}, SIZE_MAX, program);
  ::unsetenv("AQUA_DIES_AT");
  ::unsetenv("AQUA_DIES_OF");
  return router;
}

// An answer that begins on engine a, since the `others` drain until then, and is ordered to b by KV
// in its midst. It is compared with the reference.
inline void expect_right_though_it_moves(const RouterProcess& router,
                                         const std::vector<std::string>& others) {
  const auto drain = [&router](const std::string& name, bool resume) {
    EXPECT_EQ(router.order("/admin/v1/engines/" + name + "/drain", "", resume), 200);
  };
  for (const std::string& other : others) drain(other, false);
  bool moved = false;
  const auto prompt = prompt_of(kQuestion);
  const Answer answer =
      router::test::ask(router.url(), router::test::request_of(prompt, kQuestion, kAnswerTokens),
                        "/v1/completions", [&](const Answer& so_far) {
                          if (so_far.ids.size() < kMovesAfter || std::exchange(moved, true))
                            return true;
                          for (const std::string& other : others) drain(other, true);
                          EXPECT_EQ(router.engine("a").at("requests"), 1);
                          EXPECT_TRUE(move_the_only_one(router));
                          return true;
                        });
  EXPECT_EQ(answer, reference_answer(prompt, kQuestion, kAnswerTokens)) << answer.error;
  EXPECT_TRUE(moved);
}

}  // namespace aqua::fleet::test
