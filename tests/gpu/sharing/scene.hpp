// SPDX-License-Identifier: Apache-2.0
// Who takes part in a check of shared weights: a real aqua-keeper, and processes that publish,
// read, write and are killed (roles.hpp).
//
// Threads: one.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "aqua/result.hpp"
#include "tests/base/spawned_peer.hpp"

namespace aqua::sharing_contact {

// A keeper in a directory of its own, which the other processes find by $AQUA_KEEPER.
class Keeper {
 public:
  // Listens when this returns. AQUA_KEEPER_PROGRAM is where the program lies.
  [[nodiscard]] static Result<Keeper> start();
  Keeper(Keeper&&) noexcept = default;
  Keeper& operator=(Keeper&&) = delete;
  ~Keeper();  // kills it

  // Whether it has loaded a CUDA driver, without which there is no context.
  [[nodiscard]] bool has_driver() const;
  // What its descriptors name of the driver's, as "/dev/nvidiactl x 2".
  [[nodiscard]] std::string device_files() const;

 private:
  Keeper(std::string directory, test::SpawnedPeer process);
  std::string directory_;
  test::SpawnedPeer process_;
};

// This program once more, in a role (roles.hpp). Killed where it goes.
class Other {
 public:
  // Its first word: "ok" where the role has been taken up. unimplemented: there is no GPU here.
  [[nodiscard]] static Result<Other> start(std::string_view role, std::string& first_word);
  // As above; any other word than "ok" is an error.
  [[nodiscard]] static Result<Other> start(std::string_view role);
  // What it answers to this; "" where it has died.
  [[nodiscard]] std::string ask(std::string_view words);
  // Waits for its end by itself. An error for any but exit status 0.
  [[nodiscard]] Result<void> ended();
  void kill() { (void)process_.kill(); }

 private:
  explicit Other(test::SpawnedPeer process) : process_(std::move(process)) {}
  [[nodiscard]] std::string hear();
  test::SpawnedPeer process_;
};

// Publishes this version by a process that has ended when this returns.
[[nodiscard]] Result<void> publish_and_end(unsigned version);

// The roles, as first_contact::Program wants them.
[[nodiscard]] int be_peer(std::string_view role, std::size_t mib);

}  // namespace aqua::sharing_contact
