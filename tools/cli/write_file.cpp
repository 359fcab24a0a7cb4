// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/write_file.hpp"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/concat.hpp"
#include "base/errno_error.hpp"

namespace aqua::tool {
namespace {

Error cannot_write(const std::string& path) {
  const int number = errno;
  const std::string what = concat("cannot write ", path);
  errno = number;
  return errno_error(what);
}

// A link, a pipe or a device, which a file beside it must not replace.
bool is_special(const std::string& path) {
  std::error_code none;
  const auto status = std::filesystem::symlink_status(path, none);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
}

std::string beside(const std::string& path) {
  return is_special(path) ? path : path + ".new";
}

}  // namespace

Result<void> write_file(const std::string& path, const std::string& text) {
  const std::string first = beside(path);
  std::ofstream out(first, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (out && (first == path || std::rename(first.c_str(), path.c_str()) == 0)) return {};
  Error error = cannot_write(path);
  if (first != path) (void)std::remove(first.c_str());
  return error;
}

Result<void> check_writable(const std::string& path) {
  const std::string first = beside(path);
  if (first != path && !std::ofstream(first, std::ios::binary | std::ios::trunc))
    return cannot_write(path);
  if (first != path) (void)std::remove(first.c_str());
  if (first == path && ::access(path.c_str(), W_OK) != 0 && errno != ENOENT)
    return cannot_write(path);
  if (!std::filesystem::is_directory(path)) return {};
  errno = EISDIR;
  return cannot_write(path);
}

}  // namespace aqua::tool
