// SPDX-License-Identifier: Apache-2.0
// SharedGroups are groups of several servers, each of them a key in etcd, by its name, and one key
// more that every change of any of them compares and writes: a number that grows, with something
// drawn at random behind it. So each change is one of what was read; one that was held up on its
// way does nothing; and where the number is less than it was, etcd has been restored from a backup
// (docs/internals/groups.md).
//
// Threads: as GroupStore's.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "coordinator/etcd/client.hpp"
#include "coordinator/service/group_store.hpp"

namespace aqua::coordinator {

class SharedGroups final : public GroupStore {
 public:
  explicit SharedGroups(const etcd::EtcdOptions& options) : etcd_(options, stop_.get_token()) {}

  [[nodiscard]] Result<bool> commit(const groups::Book& draft,
                                    const std::set<std::string>& absent) override;
  [[nodiscard]] Result<std::optional<std::vector<groups::Group>>> read() override;
  void stop() override { stop_.request_stop(); }

 private:
  using Clock = std::chrono::steady_clock;
  // The error of a call that has just failed: who comes next would wait as long in vain.
  [[nodiscard]] Result<void> answers() const;
  // What etcd has under the key of changes.
  struct Change {
    std::uint64_t number = 0;
    std::string text{};  // "": there was none yet
  };
  // Whether `now` is not what came of the latest one: of a backup.
  [[nodiscard]] bool went_back(const Change& now) const;
  [[nodiscard]] Result<void> end_backup(const std::vector<groups::Group>& groups);
  // Writes these with a change of this number. False: another was faster.
  [[nodiscard]] Result<bool> write(etcd::Transaction changes, std::uint64_t number);
  template <typename T>
  [[nodiscard]] Result<T> heard(Result<T> outcome);

  std::stop_source stop_;
  etcd::Client etcd_;
  Change now_;          // as it was read or written last
  Change latest_;       // that was not of a backup
  bool unsure_ = true;  // a call has failed, or another was faster: what is written is not known
  std::optional<Error> failed_;
  Clock::time_point failed_at_;
};

}  // namespace aqua::coordinator
