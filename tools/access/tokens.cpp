// SPDX-License-Identifier: Apache-2.0
#include "tools/access/tokens.hpp"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ctime>

#include "base/concat.hpp"
#include "base/errno_error.hpp"
#include "base/ids.hpp"
#include "base/read_file.hpp"
#include "base/text/control_characters.hpp"
#include "base/try.hpp"
#include "base/unique_fd.hpp"
#include "tools/daemon/absolute_path.hpp"

namespace aqua::access {
namespace {

constexpr std::string_view kPrefix = "aqua_";
constexpr std::size_t kTokenText = kPrefix.size() + 64;
constexpr std::size_t kMaxName = 128;
constexpr std::size_t kMaxFile = std::size_t{16} << 20;
constexpr mode_t kOthers = S_IRWXG | S_IRWXO;

std::string_view next_word(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

std::optional<Token> parse_line(std::string_view line) {
  Token token;
  const auto digest = parse_digest(next_word(line));
  const auto role = parse_role(next_word(line));
  const std::string_view issued = next_word(line);
  const auto [end, fault] =
      std::from_chars(issued.data(), issued.data() + issued.size(), token.issued);
  if (!digest || !role || issued.empty() || fault != std::errc{} ||
      end != issued.data() + issued.size() || token.issued < 0 || line.size() > kMaxName) {
    return std::nullopt;
  }
  token.digest = *digest;
  token.role = *role;
  token.name = line;
  return token;
}

std::string text_of(const std::vector<Token>& tokens) {
  std::string text = "# Tokens of aqua-coordinator, hashed; see aqua-coordinator token --help\n";
  for (const Token& token : tokens) {
    text += concat(to_hex(token.digest), " ", to_string(token.role), " ", token.issued, " ",
                   token.name, "\n");
  }
  return text;
}

Result<void> write_all(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error(concat("write ", path));
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::fsync(fd) != 0) return errno_error(concat("fsync ", path));
  return {};
}

// What root makes goes to the folder's owner: the daemon has no rights over root's files.
Result<void> hand_over(int fd, const std::string& path) {
  if (::geteuid() != 0) return {};
  struct stat folder {};
  struct stat file {};
  if (::stat(daemon::folder_of(path).c_str(), &folder) != 0 || ::fstat(fd, &file) != 0)
    return errno_error(concat("stat ", path));
  if (file.st_uid == folder.st_uid) return {};
  if (file.st_nlink != 1) {  // the folder's owner must not be given a file of elsewhere
    return Error{Code::permission_denied,
                 concat(path, " has another name too; remove it and repeat the command")};
  }
  if (::fchown(fd, folder.st_uid, folder.st_gid) != 0) return errno_error(concat("chown ", path));
  return {};
}

// Under the lock, so a file of that name is what a command left that was killed.
Result<void> replace(const std::string& path, const std::vector<Token>& tokens) {
  const std::string temporary = concat(path, ".new");
  (void)::unlink(temporary.c_str());  // never written through: it could be a link
  const UniqueFd fd(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!fd.valid()) return errno_error(concat("open ", temporary));
  AQUA_TRY(hand_over(fd.get(), temporary));
  AQUA_TRY(write_all(fd.get(), text_of(tokens), temporary));
  if (::rename(temporary.c_str(), path.c_str()) != 0)
    return errno_error(concat("rename ", temporary));
  const std::string folder = daemon::folder_of(path);
  const UniqueFd dir(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!dir.valid() || ::fsync(dir.get()) != 0) return errno_error(concat("fsync ", folder));
  return {};
}

Result<UniqueFd> lock(const std::string& path) {
  const std::string name = concat(path, ".lock");
  UniqueFd fd(::open(name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!fd.valid()) return errno_error(concat("open ", name));
  AQUA_TRY(hand_over(fd.get(), name));
  while (::flock(fd.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return errno_error(concat("lock ", name));
  }
  return fd;
}

// True for an error of the reading, which may be another the next time; false for one of the file,
// which stays until the file changes.
bool is_passing(Code code) {
  return code != Code::invalid_argument && code != Code::permission_denied;
}

// Changes whenever the file does: it is always replaced, never written in place by us.
std::string look_of(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return concat("none: ", errno);
  return concat(info.st_dev, ":", info.st_ino, ":", info.st_size, ":", info.st_mode, ":",
                info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec, ":", info.st_ctim.tv_sec, ".",
                info.st_ctim.tv_nsec);
}

}  // namespace

Result<std::vector<Token>> parse_tokens(std::string_view text) {
  std::vector<Token> tokens;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.starts_with('#')) continue;
    auto token = parse_line(line);
    if (!token) {
      return Error{Code::invalid_argument,
                   concat("tokens, line ", number, ": is not HASH ROLE SECONDS NAME")};
    }
    tokens.push_back(*std::move(token));
  }
  return tokens;
}

Result<std::vector<Token>> load_tokens(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid() && errno == ENOENT) return std::vector<Token>{};
  if (!fd.valid()) return errno_error(concat("open ", path));
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return errno_error(concat("stat ", path));
  if ((info.st_mode & kOthers) != 0) {
    return Error{Code::permission_denied,
                 concat(path, " must be readable by its owner only: chmod 600 ", path)};
  }
  AQUA_ASSIGN(const std::string text, read_file_of(fd.get(), path, kMaxFile));
  return parse_tokens(text);
}

Result<std::string> issue_token(const std::string& path, Role role, const std::string& name) {
  if (name.size() > kMaxName || control_in(name) != std::string_view::npos) {
    return Error{Code::invalid_argument, concat("a token's name has at most ", kMaxName,
                                                " bytes and no control characters")};
  }
  AQUA_ASSIGN(const UniqueFd held, lock(path));
  AQUA_ASSIGN(std::vector<Token> tokens, load_tokens(path));
  const std::string text = concat(kPrefix, to_string(random_id<struct TokenTag>()),
                                  to_string(random_id<struct TokenTag>()));
  tokens.push_back({digest_of(text), role, static_cast<std::int64_t>(std::time(nullptr)), name});
  AQUA_TRY(replace(path, tokens));
  return text;
}

Result<void> revoke_token(const std::string& path, std::string_view id) {
  AQUA_ASSIGN(const UniqueFd held, lock(path));
  AQUA_ASSIGN(std::vector<Token> tokens, load_tokens(path));
  if (std::erase_if(tokens, [&](const Token& token) { return token.id() == id; }) == 0)
    return Error{Code::not_found, concat("no token has the id ", id, "; see token list")};
  return replace(path, tokens);
}

Result<void> TokenBook::read_again() {
  std::string look = look_of(path_);
  if (look == seen_) return {};
  tokens_.clear();
  seen_.clear();
  auto tokens = load_tokens(path_);
  const std::string fault = tokens.ok() ? "" : tokens.error().message;
  if (!fault.empty() && fault != fault_) spdlog::error("tokens: nobody is let in: {}", fault);
  fault_ = fault;
  if (tokens.ok()) {
    tokens_ = *std::move(tokens);
  } else if (is_passing(tokens.error().code)) {
    return Error{Code::unavailable, "the tokens cannot be read at this moment"};
  }
  seen_ = std::move(look);
  return {};
}

Result<std::optional<Token>> TokenBook::find(std::string_view text) {
  if (text.size() != kTokenText || !text.starts_with(kPrefix)) return std::optional<Token>{};
  const Digest digest = digest_of(text);
  MutexLock lock(mu_);
  AQUA_TRY(read_again());
  std::optional<Token> found;
  for (const Token& token : tokens_) {
    if (same_digest(token.digest, digest)) found = token;
  }
  return found;
}

}  // namespace aqua::access
