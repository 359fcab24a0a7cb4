// The command line of aqua-coordinator.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "aqua/result.hpp"
#include "coordinator/gate.hpp"
#include "coordinator/peer.hpp"
#include "ledger/ledger.hpp"
#include "wire/address.hpp"

namespace aqua::coordinator {

struct Options {
  std::string data;      // directory; created where missing
  wire::Address listen;  // default: unix:<data>/coordinator.sock
  std::string lifeline;  // path of a socket; default: <data>/lifeline.sock
  ledger::Limits limits;
  std::size_t max_watches = 512;         // long polls at one time
  mode_t socket_mode = 0600;             // of both sockets
  PeerPolicy peers;                      // may connect, besides root and our own user
  std::string tokens;                    // file of bearer tokens; default: <data>/tokens
  bool behind_proxy = false;             // a proxy reads what comes over TCP before we do
  GateLimits gate;                       // of requests and callers
  std::size_t max_connections = 10'000;  // that have not sent a request's head yet
  std::string log_level = "info";        // trace, debug, info, warn, error, off
  bool help = false;
  bool version = false;
};

// invalid_argument names the argument and what it should be.
[[nodiscard]] Result<Options> parse_options(std::span<const char* const> arguments);
[[nodiscard]] std::string_view usage();

}  // namespace aqua::coordinator
