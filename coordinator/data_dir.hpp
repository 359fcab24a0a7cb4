// SPDX-License-Identifier: Apache-2.0
// The daemon's data directory, locked for as long as this lives: one directory, one daemon.
//
// Threads: immutable after opening.
#pragma once

#include <string>

#include "aqua/result.hpp"
#include "base/unique_fd.hpp"

namespace aqua::coordinator {

class DataDir {
 public:
  // Creates the directory (mode 0700, its parent must exist) where there is none.
  // permission_denied when it is not ours, or others may write there; already_exists when
  // another daemon has it, naming its pid.
  [[nodiscard]] static Result<DataDir> open(const std::string& path);

  // Whether there is one. Creates and locks nothing; fails where open() would, but for one that
  // another daemon has.
  [[nodiscard]] static Result<bool> check(const std::string& path);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  DataDir(std::string path, UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  UniqueFd lock_;
};

}  // namespace aqua::coordinator
