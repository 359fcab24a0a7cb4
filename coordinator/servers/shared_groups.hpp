// SPDX-License-Identifier: Apache-2.0
// SharedGroups are groups of several servers, each of them a key in etcd, by its name: whoever
// changes one compares that nobody else has since it was read (docs/internals/groups.md).
//
// Threads: as GroupStore's.
#pragma once

#include <chrono>
#include <map>
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
  template <typename T>
  [[nodiscard]] Result<T> heard(Result<T> outcome);

  std::stop_source stop_;
  etcd::Client etcd_;
  std::map<std::string, etcd::Revision> revisions_;  // of each group by its name, as it was read
  etcd::Revision seen_ = 0;                          // the latest that was read
  bool unsure_ = true;  // what is written is not known: not read yet, or a commit's answer was lost
  std::optional<Error> failed_;
  Clock::time_point failed_at_;
};

}  // namespace aqua::coordinator
