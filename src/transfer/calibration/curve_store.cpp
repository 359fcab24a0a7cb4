// SPDX-License-Identifier: Apache-2.0
#include "transfer/calibration/curve_store.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/concat.hpp"
#include "base/environment.hpp"
#include "base/errno_error.hpp"
#include "base/read_file.hpp"
#include "base/try.hpp"
#include "base/unique_fd.hpp"

namespace aqua::transfer {
namespace {

std::string full_path(const char* variable) {
  std::string value = environment(variable);
  return value.starts_with('/') ? value : std::string();
}

Result<std::string> read_all(const std::string& path) {
  // O_NONBLOCK: a pipe put there must not hold us.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd.valid()) return errno_error(concat("curves ", path));
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return errno_error(concat("curves ", path));
  if (!S_ISREG(info.st_mode) || info.st_uid != ::geteuid() ||
      (info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Error{Code::permission_denied,
                 concat("curves ", path, ": not a file of ours that others cannot write")};
  }
  return read_file_of(fd.get(), concat("curves ", path), kMaxCurveText);
}

Result<void> write_all(const std::string& path, std::string_view text) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                           S_IRUSR | S_IWUSR));
  if (!fd.valid()) return errno_error(concat("curves ", path));
  while (!text.empty()) {
    const ssize_t n = ::write(fd.get(), text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error(concat("curves ", path));
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::fsync(fd.get()) != 0) return errno_error(concat("curves ", path));
  return {};
}

}  // namespace

std::string default_curve_directory() {
  if (const std::string cache = full_path("XDG_CACHE_HOME"); !cache.empty()) return cache + "/aqua";
  const std::string home = full_path("HOME");
  return home.empty() ? "" : home + "/.cache/aqua";
}

std::string curve_path(const std::string& directory, const CurveKey& key) {
  return concat(directory, "/curves-", to_string(key.device));
}

Result<CurveSet> load_curves(const std::string& directory, const CurveKey& key) {
  const std::string path = curve_path(directory, key);
  AQUA_ASSIGN(const std::string text, read_all(path));
  AQUA_ASSIGN(CurveFile file, parse_curves(text));
  if (file.key != key) {
    return Error{Code::failed_precondition,
                 concat("curves ", path, ": of library ", file.key.library, ", driver '",
                        file.key.driver, "', device ", to_string(file.key.device), "; this is ",
                        key.library, ", '", key.driver, "', ", to_string(key.device))};
  }
  return std::move(file.curves);
}

Result<void> save_curves(const std::string& directory, const CurveKey& key,
                         const CurveSet& curves) {
  (void)::mkdir(directory.substr(0, directory.rfind('/')).c_str(), S_IRWXU);
  if (::mkdir(directory.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return errno_error(concat("curves: directory ", directory));
  }
  const std::string path = curve_path(directory, key);
  const std::string draft = concat(path, '.', to_string(random_id<struct DraftTag>()));
  auto written = write_all(draft, print_curves(key, curves));
  if (written.ok() && ::rename(draft.c_str(), path.c_str()) != 0) {
    written = errno_error(concat("curves ", path));
  }
  if (!written.ok()) (void)::unlink(draft.c_str());
  return written;
}

}  // namespace aqua::transfer
