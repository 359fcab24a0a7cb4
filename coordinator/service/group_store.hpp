// SPDX-License-Identifier: Apache-2.0
// GroupStore is where groups are written down before they are told: the rows of this server's
// store, or etcd, where the coordinators of other servers write as well.
//
// Threads: the caller serialises, but for stop().
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "aqua/result.hpp"
#include "coordinator/store/store.hpp"
#include "groups/book.hpp"

namespace aqua::coordinator {

// What one commit may be of: etcd writes 128 keys and 1.5 MiB at once. One group alone fits always.
inline constexpr std::size_t kMostGroupsAtOnce = 64;
inline constexpr std::size_t kMostBytesAtOnce = std::size_t{512} << 10;

class GroupStore {
 public:
  virtual ~GroupStore() = default;
  // Writes what differs in the draft from what is written, all of it or nothing. False: others have
  // written meanwhile, or one of the servers that were to be `absent` is there, and nothing was
  // written; read() and begin again. After an error it may have been written or not.
  [[nodiscard]] virtual Result<bool> commit(const groups::Book& draft,
                                            const std::set<std::string>& absent) = 0;
  // All groups as they are written now; nullopt where nobody else writes.
  [[nodiscard]] virtual Result<std::optional<std::vector<groups::Group>>> read() = 0;
  // Ends a call under way with cancelled, and all later ones. From any thread.
  virtual void stop() {}
};

class LocalGroups final : public GroupStore {
 public:
  // `on_fatal` as LedgerService's: somebody else writes to the store.
  LocalGroups(std::shared_ptr<Store> store, std::function<void(const Error&)> on_fatal)
      : store_(std::move(store)), on_fatal_(std::move(on_fatal)) {}
  [[nodiscard]] Result<bool> commit(const groups::Book& draft,
                                    const std::set<std::string>& absent) override;
  [[nodiscard]] Result<std::optional<std::vector<groups::Group>>> read() override {
    return std::optional<std::vector<groups::Group>>{};
  }

 private:
  const std::shared_ptr<Store> store_;
  const std::function<void(const Error&)> on_fatal_;
};

}  // namespace aqua::coordinator
