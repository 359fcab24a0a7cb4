// SPDX-License-Identifier: Apache-2.0
// LogDirectory is what a BlobLog asks of the directory that its files are in. The seam exists for
// tests, which cut the power between any two of these calls.
//
// Threads: one at a time.
// Errors:  those of errno_error(), naming the file: resource_exhausted for a full disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aqua/result.hpp"

namespace aqua::keeper {

// Names a file of the log. Later files have higher numbers.
using LogFile = std::uint32_t;

class LogDirectory {
 public:
  LogDirectory() = default;
  LogDirectory(const LogDirectory&) = delete;
  LogDirectory& operator=(const LogDirectory&) = delete;
  virtual ~LogDirectory() = default;

  struct Entry {
    LogFile file = 0;
    std::uint64_t bytes = 0;
  };
  // The files that are there, by number. failed_precondition: there is something else.
  [[nodiscard]] virtual Result<std::vector<Entry>> list() = 0;
  // An empty file. When the call returns, a power cut does not undo it; so for remove().
  [[nodiscard]] virtual Result<void> create(LogFile file) = 0;
  [[nodiscard]] virtual Result<void> remove(LogFile file) = 0;
  // All of `bytes`, at `offset`. Until sync() has returned a power cut leaves any part of it.
  [[nodiscard]] virtual Result<void> write(LogFile file, std::uint64_t offset,
                                           std::span<const std::byte> bytes) = 0;
  [[nodiscard]] virtual Result<void> sync(LogFile file) = 0;
  // Cuts the file there, for good when the call returns.
  [[nodiscard]] virtual Result<void> truncate(LogFile file, std::uint64_t bytes) = 0;
  // Gives back the room of bytes that are never read again, and are there or zero from now on. The
  // file stays as long as it is. A disk that cannot do so keeps them.
  virtual void discard(LogFile file, std::uint64_t offset, std::uint64_t bytes) = 0;
  // Fills `into`. data_loss: the file ends before that.
  [[nodiscard]] virtual Result<void> read(LogFile file, std::uint64_t offset,
                                          std::span<std::byte> into) = 0;
};

}  // namespace aqua::keeper
