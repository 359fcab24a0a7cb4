// SPDX-License-Identifier: Apache-2.0
// A file of weights, read by pread().
//
// Threads: concurrent reads are fine.
#pragma once

#include <sys/stat.h>

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
  // aborted where it is not the file any more that was opened: it has been written since.
  [[nodiscard]] Result<void> check_unchanged() const;
  // invalid_argument where the file has become shorter.
  [[nodiscard]] Result<void> read(std::uint64_t offset, std::span<std::byte> to) override;

 private:
  FileSource(std::string path, UniqueFd fd, const struct stat& info)
      : path_(std::move(path)),
        fd_(std::move(fd)),
        bytes_(static_cast<std::uint64_t>(info.st_size)),
        changed_(info.st_mtim) {}

  const std::string path_;
  const UniqueFd fd_;
  const std::uint64_t bytes_;
  const timespec changed_;
};

}  // namespace aqua::sharing
