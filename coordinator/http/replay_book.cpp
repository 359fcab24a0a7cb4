// SPDX-License-Identifier: Apache-2.0
#include "coordinator/http/replay_book.hpp"

#include <algorithm>

#include "base/concat.hpp"

namespace aqua::coordinator {
namespace {

constexpr std::size_t kMaxKey = 64;
constexpr std::size_t kOverhead = 512;  // of an entry, besides its reply

}  // namespace

bool is_idempotency_key(std::string_view text) {
  return !text.empty() && text.size() <= kMaxKey && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_';
  });
}

Result<std::optional<std::string>> ReplayBook::begin(const ClientId& client, const std::string& key,
                                                     const Digest& asked) {
  MutexLock lock(mu_);
  const Key full{client, key};
  if (const auto found = by_key_.find(full); found != by_key_.end()) {
    if (found->second->asked != asked) {
      return Error{Code::already_exists,
                   concat("idempotency key ", key, " was used for another request")};
    }
    if (!found->second->reply) return reply_lost(key);
    return found->second->reply;
  }
  if (!under_way_.insert(full).second) {
    return Error{Code::unavailable,
                 concat("the request with idempotency key ", key, " is under way")};
  }
  return std::optional<std::string>();
}

// Where memory ends on the way the request stays under way: it is not begun again.
void ReplayBook::finish(const ClientId& client, const std::string& key, const Digest& asked,
                        std::optional<std::string> reply) {
  MutexLock lock(mu_);
  const Key full{client, key};
  const auto entry = entries_.insert(entries_.end(), {full, asked, std::move(reply)});
  bytes_ += entry->bytes();
  by_key_[full] = entry;
  by_client_[client].push_back(entry);
  under_way_.erase(full);
  make_room(client);
}

void ReplayBook::abandon(const ClientId& client, const std::string& key) {
  MutexLock lock(mu_);
  under_way_.erase({client, key});
}

void ReplayBook::drop(Entries::iterator entry) {
  bytes_ -= entry->bytes();
  // Not there where finish() found no memory for it.
  if (const auto of_client = by_client_.find(entry->key.first); of_client != by_client_.end()) {
    of_client->second.remove(entry);
    if (of_client->second.empty()) by_client_.erase(of_client);
  }
  by_key_.erase(entry->key);
  entries_.erase(entry);
}

void ReplayBook::make_room(const ClientId& client) {
  if (const auto& own = by_client_.at(client); own.size() > limits_.keys_per_client)
    drop(own.front());
  while (bytes_ > limits_.bytes) drop(entries_.begin());
}

Error ReplayBook::reply_lost(const std::string& key) {
  return {Code::internal, concat("the request with idempotency key ", key,
                                 " may have been done, and its reply is lost")};
}

std::size_t ReplayBook::Entry::bytes() const {
  return kOverhead + (reply ? reply->size() : 0);
}

std::size_t ReplayBook::bytes() const {
  MutexLock lock(mu_);
  return bytes_;
}

}  // namespace aqua::coordinator
