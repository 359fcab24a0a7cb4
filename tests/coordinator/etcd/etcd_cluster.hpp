// SPDX-License-Identifier: Apache-2.0
// A real etcd of some members on 127.0.0.1, in directories of its own; killed at the end.
//
// Threads: one, which must outlive it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"
#include "tests/base/temp_dir.hpp"
#include "tests/coordinator/child_process.hpp"

namespace aqua::testing {

// The program; "" where this machine has none, and a test has to be skipped.
[[nodiscard]] std::string etcd_program();

// A place where a program says that it is ready, as to systemd.
class ReadySocket {
 public:
  explicit ReadySocket(std::string path);
  // The next READY=1; false when none comes within a minute.
  [[nodiscard]] bool await() const;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  const std::string path_;
  UniqueFd fd_;
};

class EtcdCluster {
 public:
  // Ready when this returns. `certificate` and `key` are PEM files: then clients speak TLS.
  explicit EtcdCluster(std::size_t members, std::string certificate = {}, std::string key = {});

  [[nodiscard]] const std::string& url(std::size_t member) const { return urls_.at(member); }
  // All of them, with commas.
  [[nodiscard]] std::string urls() const;
  [[nodiscard]] ChildProcess& member(std::size_t member) { return *processes_.at(member); }
  void kill(std::size_t member);
  // After kill(), with what it had; ready when this returns, if there is a quorum.
  void start(std::size_t member);
  // Copies what the only member has, to be put back later. It is stopped for that, and started.
  void back_up(std::size_t member);
  void restore(std::size_t member);

 private:
  void launch(std::size_t member);
  [[nodiscard]] std::string data_of(std::size_t member) const;

  TempDir dir_;
  const std::string certificate_;
  const std::string key_;
  std::vector<std::string> urls_;
  std::vector<std::string> peers_;
  std::vector<std::unique_ptr<ReadySocket>> ready_;
  std::vector<std::optional<ChildProcess>> processes_;
};

}  // namespace aqua::testing
