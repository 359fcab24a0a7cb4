// SPDX-License-Identifier: Apache-2.0
// Small models for tests. Needs AQUA_RANDOM_MODEL_PROGRAM.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace aqua::prefill_decode {

// The file, which llama_random_model has written from this seed.
inline std::filesystem::path write_random_model(const std::filesystem::path& file,
                                                const char* seed = "1") {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::execl(AQUA_RANDOM_MODEL_PROGRAM, "llama_random_model", file.c_str(), seed, nullptr);
    std::_Exit(1);
  }
  int status = 1;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
  return file;
}

}  // namespace aqua::prefill_decode
