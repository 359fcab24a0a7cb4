// SPDX-License-Identifier: Apache-2.0
// How a client becomes known: hello and welcome on the lifeline, then joining over HTTP.
#pragma once

#include <cstdint>
#include <string>

#include "base/ids.hpp"
#include "ledger/ledger.hpp"
#include "wire/codec.hpp"

namespace aqua::wire {

inline constexpr std::uint32_t kLifelineVersion = 1;

// The one message a client sends on its lifeline.
struct Hello {
  std::uint32_t version = kLifelineVersion;
  ClientId client;
};

// The one message it gets back, unless it gets an error.
struct Welcome {
  Epoch epoch;
  SessionSecret secret;
  std::string server;  // boot id of the coordinator's machine
  ledger::Time client_ttl{};
};

// GET /v1/info, for anybody.
struct Info {
  Epoch epoch;
  std::string version;   // of the coordinator
  std::string server;    // boot id
  std::string host{};    // the machine's name; empty from daemons that do not tell
  std::string lifeline;  // path of the lifeline socket
  ledger::Time client_ttl{};
  ledger::Time lease_ttl{};
};

// POST /v1/clients. The body's pid is ignored; the coordinator knows it from the lifeline.
struct JoinRequest {
  ledger::ClientInfo info;
};

// Joined, or renewed: renew again well before the time to live is over.
struct RenewReply {
  Epoch epoch;
  ledger::Time client_ttl{};
  ledger::Time lease_ttl{};
};

// Where there is nothing to say but the epoch.
struct Ack {
  Epoch epoch;
};

}  // namespace aqua::wire
