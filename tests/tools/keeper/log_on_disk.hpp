// SPDX-License-Identifier: Apache-2.0
// A log in a directory of its own on a real disk.
//
// Threads: one.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tools/keeper/disk/blob_log.hpp"
#include "tools/keeper/disk/posix_directory.hpp"

namespace aqua::keeper::test {

class LogOnDisk : public ::testing::Test {
 protected:
  LogOnDisk() : parent_(::testing::TempDir() + "blob_log.XXXXXX") {
    EXPECT_NE(::mkdtemp(parent_.data()), nullptr);
    path_ = parent_ + "/log";
  }
  ~LogOnDisk() override { std::filesystem::remove_all(parent_); }

  [[nodiscard]] Result<BlobLog> open() const {
    auto directory = open_log_directory(path_);
    if (!directory.ok()) return directory.error();
    return BlobLog::open(*std::move(directory), {.most_bytes = 1 << 20, .file_bytes = 1 << 16});
  }

  std::string parent_, path_;
};

// What round `round` of a test puts: its number, in every word, so that a mixture shows.
inline std::vector<std::byte> stamped(std::uint64_t round) {
  std::vector<std::uint64_t> words(1 + round % 4000, round);
  const auto bytes = std::as_bytes(std::span(words));
  return {bytes.begin(), bytes.end()};
}

}  // namespace aqua::keeper::test
