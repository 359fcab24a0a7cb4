// SPDX-License-Identifier: Apache-2.0
// What another user gets to hear: root becomes the user nobody, in a fork of the test.
//
// Threads: one, and the test has no others.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/unique_fd.hpp"

namespace aqua::test {

inline constexpr uid_t kNobody = 65534;

// What `say` answers there, a text of at most 4096 bytes. Needs root.
template <typename Say>
[[nodiscard]] std::string as_nobody(const Say& say) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) std::_Exit(9);
    const std::string said = say();
    (void)!::write(writing.get(), said.data(), said.size());
    std::_Exit(0);
  }
  writing.reset();
  std::string said(4096, '\0');
  const ssize_t bytes = ::read(reading.get(), said.data(), said.size());
  said.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  return said;
}

}  // namespace aqua::test
