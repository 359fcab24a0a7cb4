// SPDX-License-Identifier: Apache-2.0
// A member of an etcd on each host, which all of them make together.
//
// Threads: functions of their arguments; an EtcdReady: one. Errors: Failure.
#pragma once

#include <filesystem>
#include <string>

#include "fd.hpp"
#include "options.hpp"

namespace aqua::pipeline {

// What a member is told of all, and where clients ask them.
[[nodiscard]] std::string etcd_members(unsigned hosts);
[[nodiscard]] std::string etcd_clients(unsigned hosts);
// Becomes that of options.server, whose data lie in options.directory.
[[noreturn]] void become_etcd(const Options& options);

// Where the member whose folder that is says that it is ready, as to systemd: it has to be there
// before the member begins.
class EtcdReady {
 public:
  explicit EtcdReady(const std::filesystem::path& folder);
  void await() const;

 private:
  const std::string path_;
  example::Fd socket_;
};

}  // namespace aqua::pipeline
