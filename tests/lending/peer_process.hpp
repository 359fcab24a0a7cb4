// SPDX-License-Identifier: Apache-2.0
// A second process of the lending tests, played by lending_peer: asked by text, stopped and
// killed by signal.
#pragma once

#include <csignal>
#include <string>

#include "lending/importer.hpp"
#include "tests/base/spawned_peer.hpp"

namespace aqua::lending {

class Peer {
 public:
  // Starts it, with a device of that kind (device_kinds.hpp).
  explicit Peer(const std::string& kind);

  // One command, one answer: "ok", a Code's name, or what was asked for. lending_peer.cpp
  // lists the commands.
  [[nodiscard]] std::string ask(const std::string& command);
  void tell(const std::string& command);
  [[nodiscard]] std::string hear();

  void signal(int number) const;
  // SIGSTOP or SIGCONT, and waits until it has happened.
  void stop() const;
  void resume() const;
  // SIGKILL, and waits for its end.
  void kill();

 private:
  test::SpawnedPeer process_;
};

// The command that makes a peer import a slab.
[[nodiscard]] std::string import_command(const LeasedSlab& lease);

}  // namespace aqua::lending
