// SPDX-License-Identifier: Apache-2.0
// Bearer tokens: "aqua_" and 64 hex digits, drawn at random. The file keeps their SHA-256
// only (a random secret of 256 bits needs no slow hash), one token a line:
//   <64 hex digits of the hash> <role> <issued, seconds since 1970> <name, may have spaces>
// Lines that begin with # are remarks. A token's id is the first 16 digits of its hash.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "base/mutex.hpp"
#include "tools/access/digest.hpp"
#include "tools/access/role.hpp"

namespace aqua::access {

struct Token {
  Digest digest{};
  Role role = Role::none;
  std::int64_t issued = 0;
  std::string name;

  [[nodiscard]] std::string id() const { return to_hex(digest).substr(0, 16); }
};

// invalid_argument names the line.
[[nodiscard]] Result<std::vector<Token>> parse_tokens(std::string_view text);
// No file is no token. permission_denied when others than its owner may read or write it.
[[nodiscard]] Result<std::vector<Token>> load_tokens(const std::string& path);

// The new token's text, which is told here and never again. The file is replaced as a whole
// and synced before this returns; commands that run at one time wait for each other. Made by
// root, the file belongs to its folder's owner, so that the daemon can read it.
[[nodiscard]] Result<std::string> issue_token(const std::string& path, Role role,
                                              const std::string& name);
// not_found when no token has this id.
[[nodiscard]] Result<void> revoke_token(const std::string& path, std::string_view id);

// The tokens of a file as they are at this moment: it is read again when it has changed, so a
// revoked token is over at once. A file that is wrong, or not the owner's alone, lets nobody in;
// one that could not be read (no descriptor left, a disk's fault) is read again by the next find().
//
// Threads: every method may be called concurrently.
class TokenBook {
 public:
  explicit TokenBook(std::string path) : path_(std::move(path)) {}

  // The token whose text this is. Compared by hash, and with every token: time tells nothing.
  // unavailable while the file cannot be read.
  [[nodiscard]] Result<std::optional<Token>> find(std::string_view text);

 private:
  [[nodiscard]] Result<void> read_again() AQUA_REQUIRES(mu_);

  const std::string path_;
  Mutex mu_;
  std::vector<Token> tokens_ AQUA_GUARDED_BY(mu_);
  std::string seen_ AQUA_GUARDED_BY(mu_);   // what the file was like when it was read
  std::string fault_ AQUA_GUARDED_BY(mu_);  // what was logged of it; "": nothing since it was read
};

}  // namespace aqua::access
