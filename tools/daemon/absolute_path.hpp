// SPDX-License-Identifier: Apache-2.0
// A path as a process in any working directory may be told it, and the folder a path stands in.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "aqua/result.hpp"
#include "base/concat.hpp"

namespace aqua::daemon {

// Without "." and ".."; symbolic links are not followed. Fails with Code::unavailable where the
// working directory no longer exists.
inline Result<std::string> absolute_path(std::string_view path) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  if (!error) return absolute.lexically_normal().string();
  return Error{Code::unavailable, concat("cannot make ", path, " absolute: ", error.message())};
}

// What `path` is made in; "." for a name alone.
inline std::string folder_of(std::string_view path) {
  const auto folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

}  // namespace aqua::daemon
