// SPDX-License-Identifier: Apache-2.0
// A file of weights, read by pread().
//
// Threads: concurrent reads are fine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/unique_fd.hpp"
#include "systems/sharing/decide/model_file.hpp"

namespace aqua::sharing {

class FileSource final : public ByteSource {
 public:
  // not_found, permission_denied; invalid_argument: it is no ordinary file.
  [[nodiscard]] static Result<std::unique_ptr<FileSource>> open(const std::string& path);

  [[nodiscard]] std::uint64_t bytes() const override { return bytes_; }
  // invalid_argument where the file has become shorter.
  [[nodiscard]] Result<void> read(std::uint64_t offset, std::span<std::byte> to) override;

 private:
  FileSource(std::string path, UniqueFd fd, std::uint64_t bytes)
      : path_(std::move(path)), fd_(std::move(fd)), bytes_(bytes) {}

  const std::string path_;
  const UniqueFd fd_;
  const std::uint64_t bytes_;
};

}  // namespace aqua::sharing
