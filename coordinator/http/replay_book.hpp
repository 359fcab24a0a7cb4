// SPDX-License-Identifier: Apache-2.0
// ReplayBook remembers what was answered under an idempotency key, so that a request that is
// sent again, because its reply was lost, is answered with the same bytes and done once.
//
// Threads: every method may be called concurrently.
// Memory:  bounded by ReplayLimits: the oldest are forgotten first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "aqua/result.hpp"
#include "base/ids.hpp"
#include "base/mutex.hpp"
#include "tools/access/digest.hpp"

namespace aqua::coordinator {

using namespace access;  // digests

struct ReplayLimits {
  std::size_t keys_per_client = 64;
  std::size_t bytes = std::size_t{16} << 20;  // of replies, over all clients
};

class ReplayBook {
 public:
  explicit ReplayBook(ReplayLimits limits = {}) : limits_(limits) {}

  // nullopt: new, and now under way: finish() or abandon() it. Otherwise the former reply.
  // already_exists when the key came with another request (`asked` differs); unavailable while
  // the same request is under way; reply_lost() where it was finished without a reply.
  [[nodiscard]] Result<std::optional<std::string>> begin(const ClientId& client,
                                                         const std::string& key,
                                                         const Digest& asked);
  // nullopt: it may have been done, and its reply could not be made.
  void finish(const ClientId& client, const std::string& key, const Digest& asked,
              std::optional<std::string> reply);
  // It failed and changed nothing: the key is free again.
  void abandon(const ClientId& client, const std::string& key);

  [[nodiscard]] static Error reply_lost(const std::string& key);

  [[nodiscard]] std::size_t bytes() const;  // held now; for tests

 private:
  using Key = std::pair<ClientId, std::string>;
  struct Entry {
    Key key;
    Digest asked{};
    std::optional<std::string> reply;
    [[nodiscard]] std::size_t bytes() const;
  };
  using Entries = std::list<Entry>;  // oldest first

  void drop(Entries::iterator entry) AQUA_REQUIRES(mu_);
  void make_room(const ClientId& client) AQUA_REQUIRES(mu_);

  const ReplayLimits limits_;
  mutable Mutex mu_;
  Entries entries_ AQUA_GUARDED_BY(mu_);
  std::map<Key, Entries::iterator> by_key_ AQUA_GUARDED_BY(mu_);
  std::map<ClientId, std::list<Entries::iterator>> by_client_ AQUA_GUARDED_BY(mu_);
  std::set<Key> under_way_ AQUA_GUARDED_BY(mu_);
  std::size_t bytes_ AQUA_GUARDED_BY(mu_) = 0;
};

// 1 to 64 characters of letters, digits, '-' and '_'.
[[nodiscard]] bool is_idempotency_key(std::string_view text);

}  // namespace aqua::coordinator
