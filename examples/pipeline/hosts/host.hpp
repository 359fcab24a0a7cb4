// SPDX-License-Identifier: Apache-2.0
// Host is one of several that this machine is divided into (hosts/namespaces.hpp), with what runs
// on each: a member of an etcd, a coordinator, a keeper and a courier.
//
// Threads: one, which lives as long as it. Errors: Failure.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "child_process.hpp"
#include "hosts/etcd.hpp"
#include "options.hpp"

namespace aqua::pipeline {

class Host {
 public:
  // An empty one, without a network. The options outlive it. `folder` is made; what the host is to
  // find there lies in it.
  Host(const Options& options, unsigned number, const std::filesystem::path& folder);

  [[nodiscard]] const std::string& name() const { return name_; }  // "h2"
  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  // Its first process: what is started there enters by it.
  [[nodiscard]] pid_t first() const { return first_; }

  // Once it has its network. Members of an etcd have to begin all together.
  void begin_etcd();
  void await_etcd();
  // Returns once they listen.
  void begin_coordinator_and_keeper();
  // Ends the courier that there is.
  void end_courier();
  // Begins another one by that file, and returns once it listens.
  void begin_courier(const nlohmann::json& file);
  // What its courier does.
  [[nodiscard]] const nlohmann::json& courier_file() const { return courier_file_; }
  // Over which carriers its couriers have said that they move bytes, of connections either way.
  struct Carriers {
    unsigned tls = 0, ucx = 0;
  };
  [[nodiscard]] Carriers carriers();
  // Ends all processes on it at once.
  void lose();

 private:
  [[nodiscard]] std::vector<std::string> line(const char* role) const;
  // What the courier has said until then. Whether it listens is among it.
  bool hear_courier(std::chrono::milliseconds patience);
  [[nodiscard]] example::ChildProcess begin(const std::string& what,
                                            const std::vector<std::string>& line) const;

  const Options& options_;
  const std::string name_;
  const std::string address_;
  const std::filesystem::path folder_;
  example::ChildProcess namespaces_;
  pid_t first_;
  std::optional<EtcdReady> etcd_ready_{};
  std::optional<example::ChildProcess> etcd_{}, coordinator_{}, keeper_{}, courier_{};
  nlohmann::json courier_file_{};
  Carriers carriers_{};
};

}  // namespace aqua::pipeline
