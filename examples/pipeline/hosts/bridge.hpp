// SPDX-License-Identifier: Apache-2.0
// Bridge is the network between hosts: a bridge in this process's own network, to which each host
// is wired by a pair of veth. This process has an address there, too.
//
// Threads: one. Errors: Failure, where `ip` refuses.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace aqua::pipeline {

// "h2": the name of a host, and of its link on the bridge.
[[nodiscard]] std::string host_name(unsigned host);

class Bridge {
 public:
  // Files for `ip` are written to `directory`. This process has left the machine's network.
  explicit Bridge(const std::filesystem::path& directory);
  Bridge(const Bridge&) = delete;
  Bridge& operator=(const Bridge&) = delete;
  ~Bridge();

  // The address of the host with that number, and of this process.
  [[nodiscard]] static std::string address_of(unsigned host);
  [[nodiscard]] static std::string own_address();
  // Wires the host of that first process.
  void attach(unsigned host, pid_t first);
  // Its link is down from then on.
  void cut(unsigned host);
  // Bytes that have come from the host to the bridge, and gone to it, by the counters of its link.
  // Those of a link that was cut stay as they were then.
  struct Counters {
    std::uint64_t sent = 0, received = 0;
  };
  [[nodiscard]] Counters counters(unsigned host) const;

 private:
  // Lines for `ip -batch`, here or in the network of that process.
  void ip(const std::vector<std::string>& lines, pid_t in = 0) const;

  const std::filesystem::path directory_;
  std::vector<unsigned> attached_{};
  std::map<unsigned, Counters> cut_{};  // as they were when the link was cut
};

}  // namespace aqua::pipeline
