// The command line of aqua-coordinator.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "aqua/result.hpp"
#include "coordinator/log.hpp"
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
  std::set<std::uint32_t> allowed_uids;  // may connect, besides root and our own user
  LogFormat log_format = LogFormat::text;
  std::string log_level = "info";  // trace, debug, info, warn, error, off
  bool help = false;
  bool version = false;
};

// invalid_argument names the argument and what it should be.
[[nodiscard]] Result<Options> parse_options(std::span<const char* const> arguments);
[[nodiscard]] std::string_view usage();

}  // namespace aqua::coordinator
