// SPDX-License-Identifier: Apache-2.0
// A bearer token of a daemon's, issued by its own command and named to this process's requests
// for as long as this lives.
//
// Threads: one, and before others read the environment.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <string>

#include "tests/coordinator/daemon_process.hpp"

namespace aqua::testing {

// What `aqua-coordinator token ...` prints, for the tokens of this daemon; "" when it fails.
inline std::string token_command(const DaemonProcess& daemon, std::vector<std::string> words) {
  words.insert(words.begin(), {AQUA_COORDINATOR_PROGRAM, "token"});
  words.insert(words.end(), {"--data", daemon.data()});
  ChildProcess command(words);
  std::string line = command.read_line();
  EXPECT_EQ(command.wait(), 0);
  return line;
}

class TokenFile {
 public:
  TokenFile(const DaemonProcess& daemon, const std::string& role)
      : text_(token_command(daemon, {"issue", role, "of a test"})) {
    const std::string path = dir_ / "token";
    std::ofstream(path) << text_ << "\n";
    if (const char* former = ::getenv("AQUA_TOKEN_FILE")) former_ = former;
    ::setenv("AQUA_TOKEN_FILE", path.c_str(), 1);
  }
  ~TokenFile() {
    if (former_.empty()) {
      ::unsetenv("AQUA_TOKEN_FILE");
    } else {
      ::setenv("AQUA_TOKEN_FILE", former_.c_str(), 1);
    }
  }
  TokenFile(const TokenFile&) = delete;
  TokenFile& operator=(const TokenFile&) = delete;

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  TempDir dir_;
  std::string text_;
  std::string former_;
};

}  // namespace aqua::testing
