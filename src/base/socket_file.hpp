// SPDX-License-Identifier: Apache-2.0
// The file of a socket that listens; removed with this object once it is ours.
#pragma once

#include <unistd.h>

#include <string>
#include <utility>

namespace aqua {

class SocketFile {
 public:
  // Nothing is removed before own() is called: until then the file may be somebody else's.
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
