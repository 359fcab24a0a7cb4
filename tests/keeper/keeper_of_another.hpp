// SPDX-License-Identifier: Apache-2.0
// How a keeper refuses another user, in the three ways that there are; needs root.
//
// Threads: one.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "tests/base/as_nobody.hpp"
#include "tests/keeper/keeper_process.hpp"

namespace aqua::test {

// `attach(socket)` answers the name of a code, or "ok".
template <typename Attach>
void expect_other_users_are_refused(const Attach& attach) {
  KeeperProcess keeper;
  const std::string socket = keeper.socket();
  const std::string directory = socket.substr(0, socket.rfind('/'));
  const auto nobody_attaches = [&] { return as_nobody([&] { return attach(socket); }); };
  EXPECT_EQ(nobody_attaches(), "permission_denied") << "the directory is root's alone";
  ASSERT_EQ(::chmod(directory.c_str(), 0755), 0);
  EXPECT_EQ(nobody_attaches(), "permission_denied") << "the socket is";
  ASSERT_EQ(::chmod(socket.c_str(), 0666), 0);
  EXPECT_EQ(nobody_attaches(), "permission_denied") << "the keeper serves root alone";
  EXPECT_NE(attach(socket), "permission_denied");

  // Root trusts no keeper but its own; who has it is served.
  if (as_nobody([] {
        return ::access(AQUA_KEEPER_PROGRAM, X_OK) == 0 ? "it may" : "it may not";
      }) != "it may") {
    GTEST_SKIP() << "the user nobody cannot start a keeper from where this was built";
  }
  keeper.stop();
  ASSERT_EQ(::chown(directory.c_str(), kNobody, kNobody), 0);
  keeper.start({"/usr/bin/setpriv", "--reuid", std::to_string(kNobody), "--clear-groups",
                AQUA_KEEPER_PROGRAM, "--socket", socket});
  EXPECT_EQ(attach(socket), "permission_denied");
  EXPECT_NE(nobody_attaches(), "permission_denied");
}

}  // namespace aqua::test
