// SPDX-License-Identifier: Apache-2.0
#include "tools/keeper/disk/posix_directory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/concat.hpp"
#include "base/errno_error.hpp"
#include "base/own_directory.hpp"
#include "base/try.hpp"
#include "base/unique_fd.hpp"
#include "base/whole_io.hpp"

namespace aqua::keeper {
namespace {

constexpr std::string_view kEnding = ".blobs";
// Descriptors at once: a log has as many files as its quota allows.
constexpr std::size_t kMostOpen = 8;
constexpr std::uint64_t kDiskBlock = 4096;  // bytes, of which a disk gives back only whole ones

std::string name_of(LogFile file) {
  const std::string digits = std::to_string(file);
  return concat(std::string(10 - digits.size(), '0'), digits, kEnding);
}

std::optional<LogFile> file_of(std::string_view name) {
  LogFile file = 0;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), file);
  if (read.ec != std::errc() || name != name_of(file)) return std::nullopt;
  return file;
}

class PosixDirectory final : public LogDirectory {
 public:
  PosixDirectory(UniqueFd directory, std::string path)
      : directory_(std::move(directory)), path_(std::move(path)) {}

  Result<std::vector<Entry>> list() override;
  Result<void> create(LogFile file) override;
  Result<void> remove(LogFile file) override;
  Result<void> write(LogFile file, std::uint64_t offset, std::span<const std::byte> bytes) override;
  Result<void> sync(LogFile file) override;
  Result<void> truncate(LogFile file, std::uint64_t bytes) override;
  void discard(LogFile file, std::uint64_t offset, std::uint64_t bytes) override;
  Result<void> read(LogFile file, std::uint64_t offset, std::span<std::byte> into) override;

 private:
  [[nodiscard]] std::string where(LogFile file) const { return concat(path_, "/", name_of(file)); }
  [[nodiscard]] Result<int> open(LogFile file, int flags = 0);
  [[nodiscard]] Result<void> sync_directory();

  const UniqueFd directory_;
  const std::string path_;
  std::map<LogFile, UniqueFd> open_;  // the last one is among them, once it has been opened
};

struct CloseDirectory {
  void operator()(DIR* directory) const noexcept { ::closedir(directory); }
};

Result<std::vector<LogDirectory::Entry>> PosixDirectory::list() {
  const std::unique_ptr<DIR, CloseDirectory> entries(
      ::fdopendir(::openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  if (entries == nullptr) return errno_error(path_);
  std::vector<Entry> found;
  while (const dirent* const entry = ::readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    const auto file = file_of(name);
    // Not by opening it: of a device that alone may do something.
    struct stat status {};
    if (::fstatat(directory_.get(), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
      return errno_error(concat(path_, "/", name));
    }
    if (!file || !S_ISREG(status.st_mode)) {
      return Error{Code::failed_precondition,
                   concat(path_, ": '", name, "' is no file of a blob log")};
    }
    found.push_back({*file, static_cast<std::uint64_t>(status.st_size)});
  }
  std::ranges::sort(found, {}, &Entry::file);
  return found;
}

Result<int> PosixDirectory::open(LogFile file, int flags) {
  const auto known = open_.find(file);
  if (known != open_.end()) return known->second.get();
  UniqueFd fd(::openat(directory_.get(), name_of(file).c_str(),
                       O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600));
  if (!fd.valid()) return errno_error(where(file));
  // The oldest goes. It was synced before a later one was begun: no failed write is forgotten.
  if (open_.size() == kMostOpen) open_.erase(open_.begin());
  return open_.emplace(file, std::move(fd)).first->second.get();
}

Result<void> PosixDirectory::sync_directory() {
  return ::fsync(directory_.get()) == 0 ? Result<void>() : errno_error(path_);
}

Result<void> PosixDirectory::create(LogFile file) {
  AQUA_TRY(open(file, O_CREAT | O_EXCL));
  return sync_directory();
}

Result<void> PosixDirectory::remove(LogFile file) {
  if (::unlinkat(directory_.get(), name_of(file).c_str(), 0) != 0) return errno_error(where(file));
  open_.erase(file);
  return sync_directory();
}

Result<void> PosixDirectory::write(LogFile file, std::uint64_t offset,
                                   std::span<const std::byte> bytes) {
  AQUA_ASSIGN(const int fd, open(file));
  return write_at(fd, offset, bytes, where(file));
}

Result<void> PosixDirectory::sync(LogFile file) {
  AQUA_ASSIGN(const int fd, open(file));
  return ::fdatasync(fd) == 0 ? Result<void>() : errno_error(where(file));
}

Result<void> PosixDirectory::truncate(LogFile file, std::uint64_t bytes) {
  AQUA_ASSIGN(const int fd, open(file));
  if (::ftruncate(fd, static_cast<off_t>(bytes)) != 0) return errno_error(where(file));
  return sync(file);
}

void PosixDirectory::discard(LogFile file, std::uint64_t offset, std::uint64_t bytes) {
  const std::uint64_t first = (offset + kDiskBlock - 1) / kDiskBlock * kDiskBlock;
  const std::uint64_t end = (offset + bytes) / kDiskBlock * kDiskBlock;
  if (first >= end) return;
  if (const auto fd = open(file); fd.ok()) {
    (void)::fallocate(*fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(first),
                      static_cast<off_t>(end - first));
  }
}

Result<void> PosixDirectory::read(LogFile file, std::uint64_t offset, std::span<std::byte> into) {
  AQUA_ASSIGN(const int fd, open(file));
  AQUA_ASSIGN(const std::size_t read, read_at(fd, offset, into, where(file)));
  if (read == into.size()) return {};
  return Error{Code::data_loss, concat(where(file), ": it ends at byte ", offset + read)};
}

// The directory may have been made just now, or by a process that died before it came to this:
// until its parent is synced a power cut takes it back, with everything that was synced in it.
Result<void> sync_parent(int directory, const std::string& path) {
  const UniqueFd parent(::openat(directory, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent.valid() && errno == EACCES) return {};  // an administrator's, who made both
  if (parent.valid() && ::fsync(parent.get()) == 0) return {};
  return errno_error(concat("the directory that ", path, " is in"));
}

}  // namespace

Result<std::unique_ptr<LogDirectory>> open_log_directory(const std::string& path) {
  AQUA_ASSIGN(UniqueFd directory, open_own_directory("blob log", path));
  // The lock goes with the process, however that ends.
  if (::flock(directory.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return errno_error(path);
    return Error{Code::failed_precondition, concat(path, ": another process has it open")};
  }
  AQUA_TRY(sync_parent(directory.get(), path));
  return std::unique_ptr<LogDirectory>(
      std::make_unique<PosixDirectory>(std::move(directory), path));
}

}  // namespace aqua::keeper
