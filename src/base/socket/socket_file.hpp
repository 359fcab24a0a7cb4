// SPDX-License-Identifier: Apache-2.0
// SocketFile removes the file of a listening socket when it is destroyed, once the file is ours.
#pragma once

#include <unistd.h>

#include <string>
#include <utility>

namespace aqua {

class SocketFile {
 public:
  // Removes nothing before own() is called, because until then the file may be another process's.
  explicit SocketFile(std::string path) : path_(std::move(path)) {}
  ~SocketFile() {
    if (ours_) (void)::unlink(path_.c_str());
  }
  SocketFile(SocketFile&& other) noexcept
      : path_(std::move(other.path_)), ours_(std::exchange(other.ours_, false)) {}
  SocketFile& operator=(SocketFile&&) = delete;

  void own() noexcept { ours_ = true; }

 private:
  std::string path_;
  bool ours_ = false;
};

}  // namespace aqua
