// SPDX-License-Identifier: Apache-2.0
// What coordinators of several servers tell of themselves (docs/operate/servers.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "wire/codec.hpp"

namespace aqua::wire {

// A server, as its coordinator last told: to etcd, where this is the value of a key.
struct Server {
  std::string name{};         // unique among them; an operator's
  std::string host{};         // what the machine calls itself
  std::string version{};      // of the coordinator
  std::string coordinator{};  // "https://HOST:PORT", where operators ask it; "": nowhere but there
  ServerOwner owner{};        // of the coordinator's data directory, over all of its lives
  std::uint64_t clients = 0;
  std::uint64_t groups = 0;
  std::uint64_t lent_bytes = 0;  // put up by producers, in others' hands or not
  std::uint64_t held_bytes = 0;  // of these, in consumers' hands
  friend bool operator==(const Server&, const Server&) = default;
};

// GET /v1/servers: those whose leases have not run out, sorted by name. Without etcd it is the one
// that answers.
struct Servers {
  Epoch epoch{};
  std::string self{};                 // name of the one that answers
  bool shared = false;                // whether there is an etcd to ask
  std::string fault{};                // why what follows may be out of date; "": it is not
  std::optional<ledger::Time> age{};  // since it was read; nullopt: it has not been yet
  std::vector<Server> servers{};
};

// GET /readyz
struct Ready {
  Epoch epoch;
  std::vector<std::string> warnings;  // what is wrong, though requests are served
};

}  // namespace aqua::wire
