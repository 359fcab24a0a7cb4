// SPDX-License-Identifier: Apache-2.0
#include "coordinator/servers/server_owner.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <span>

#include "base/concat.hpp"
#include "base/errno_error.hpp"
#include "base/read_file.hpp"
#include "base/try.hpp"
#include "base/unique_fd.hpp"
#include "base/whole_io.hpp"

namespace aqua::coordinator {

Result<ServerOwner> server_owner(const std::string& directory) {
  const std::string path = directory + "/server";
  constexpr std::size_t kMostBytes = 64;
  if (const auto text = read_file(path, kMostBytes); text.ok()) {
    if (auto owner = parse_id<ServerTag>(text->substr(0, text->find('\n'))); owner.ok())
      return owner;
    return Error{Code::data_loss, concat(path, ": is no id of a server; remove it for a new one")};
  } else if (text.error().code != Code::not_found) {
    return text.error();
  }
  const auto owner = random_id<ServerTag>();
  const std::string fresh = path + ".new";
  const UniqueFd file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
                             S_IRUSR | S_IWUSR));
  if (!file.valid()) return errno_error(concat("open ", fresh));
  const std::string text = to_string(owner) + "\n";
  AQUA_TRY(write_at(file.get(), 0, std::as_bytes(std::span(text)), fresh));
  if (::fsync(file.get()) != 0) return errno_error(concat("write ", fresh));
  if (::rename(fresh.c_str(), path.c_str()) != 0) return errno_error(concat("write ", path));
  const UniqueFd folder(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid() || ::fsync(folder.get()) != 0) return errno_error(concat("sync ", directory));
  return owner;
}

}  // namespace aqua::coordinator
