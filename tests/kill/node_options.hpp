// SPDX-License-Identifier: Apache-2.0
// The command line of aqua_kill_node, as the orchestrator writes it and the node reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "aqua/result.hpp"

namespace aqua::kill_test {

struct NodeOptions {
  bool consumer = false;  // --role consumer|producer
  std::string name{};
  std::string device{};       // "emu:N"; two nodes must differ
  std::string coordinator{};  // "unix:PATH"
  std::string sockets{};      // directory for the exchange socket
  std::uint16_t tenant = 0;   // in every stamp; never the same twice in one test
  std::string at{};           // see arming.hpp; "" for nothing

  // Sizes, for all nodes alike. Small, so that a round takes well under a second.
  std::size_t slab_bytes = std::size_t{2} << 20;
  std::size_t peer_bytes = std::size_t{32} << 20;  // what a producer lends, and the most to borrow
  std::size_t host_bytes = std::size_t{64} << 20;
  std::size_t device_bytes = std::size_t{128} << 20;
  std::size_t engine_bytes = std::size_t{2} << 20;
  std::size_t tensors = 16;
  std::size_t tensor_bytes = std::size_t{512} << 10;
};

[[nodiscard]] Result<NodeOptions> parse_node_options(std::span<const char* const> arguments);
[[nodiscard]] std::vector<std::string> to_arguments(const NodeOptions& options);

}  // namespace aqua::kill_test
