#include "coordinator/options.hpp"

#include <grp.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <limits>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "coordinator/data_dir.hpp"
#include "wire/limits.hpp"

namespace aqua::coordinator {
namespace {

constexpr std::string_view kValued[] = {
    "--data",           "--listen",          "--lifeline",    "--client-ttl",  "--lease-ttl",
    "--max-watches",    "--socket-mode",     "--allow-uid",   "--log-level",   "--socket-group",
    "--tokens",         "--max-body",        "--max-head",    "--max-headers", "--max-rate",
    "--max-concurrent", "--max-connections", "--max-clients", "--max-slabs"};

Error unknown(std::string_view option) {
  return Error{Code::invalid_argument, concat("unknown option ", option, "; see --help")};
}

Error bad(std::string_view option, std::string_view value, std::string_view expected) {
  return Error{Code::invalid_argument, concat(option, " ", value, ": expected ", expected)};
}

Result<std::uint64_t> number(std::string_view option, std::string_view value, std::uint64_t min,
                             std::uint64_t max, int base = 10) {
  std::uint64_t parsed = 0;
  const auto [end, fault] =
      std::from_chars(value.data(), value.data() + value.size(), parsed, base);
  if (value.empty() || fault != std::errc{} || end != value.data() + value.size() || parsed < min ||
      parsed > max) {
    return bad(
        option, value,
        base == 8 ? "an octal mode from 0 to 777" : concat("an integer from ", min, " to ", max));
  }
  return parsed;
}

Result<ledger::Time> duration(std::string_view option, std::string_view value) {
  AQUA_ASSIGN(const std::uint64_t count, number(option, value, 1, wire::kMaxDurationMs));
  return ledger::Time{static_cast<ledger::Time::rep>(count)};
}

// By name or number.
Result<gid_t> group(std::string_view option, std::string_view value) {
  constexpr std::string_view kDigits = "0123456789";
  if (!value.empty() && value.find_first_not_of(kDigits) == std::string_view::npos) {
    AQUA_ASSIGN(const std::uint64_t gid,
                number(option, value, 0, std::numeric_limits<gid_t>::max() - 1));
    return static_cast<gid_t>(gid);
  }
  const ::group* found = ::getgrnam(std::string(value).c_str());
  if (found == nullptr) return bad(option, value, "a group's name or number");
  return found->gr_gid;
}

Result<void> set_limit(Options& options, std::string_view option, std::string_view value) {
  struct Limit {
    std::string_view option;
    std::size_t& place;
    std::uint64_t min;
    std::uint64_t max;
  };
  const Limit limits[] = {{"--max-watches", options.max_watches, 1, 4096},
                          {"--max-body", options.gate.body_bytes, 1024, wire::kMaxRequestBytes},
                          {"--max-head", options.gate.head.bytes, 1024, std::size_t{1} << 20},
                          {"--max-headers", options.gate.head.headers, 8, 1024},
                          {"--max-rate", options.gate.quota.rate, 1, 1'000'000},
                          {"--max-concurrent", options.gate.quota.concurrent, 2, 4096},
                          {"--max-connections", options.max_connections, 16, 1'000'000},
                          {"--max-clients", options.limits.max_clients, 1, 65536},
                          {"--max-slabs", options.limits.max_slabs_per_client, 1, 1 << 20}};
  for (const Limit& limit : limits) {
    if (limit.option != option) continue;
    AQUA_ASSIGN(limit.place, number(option, value, limit.min, limit.max));
    return {};
  }
  return unknown(option);
}

Result<void> set_value(Options& options, std::string_view option, std::string_view value) {
  if (option == "--data") {
    options.data = value;
    if (value.empty()) return bad(option, value, "a directory");
  } else if (option == "--listen") {
    AQUA_ASSIGN(options.listen, wire::parse_address(value));
  } else if (option == "--lifeline") {
    options.lifeline = value;
    if (value.empty()) return bad(option, value, "a path");
  } else if (option == "--client-ttl") {
    AQUA_ASSIGN(options.limits.client_ttl, duration(option, value));
  } else if (option == "--lease-ttl") {
    AQUA_ASSIGN(options.limits.lease_ttl, duration(option, value));
  } else if (option == "--socket-mode") {
    AQUA_ASSIGN(const std::uint64_t mode, number(option, value, 0, 0777, 8));
    options.socket_mode = static_cast<mode_t>(mode);
  } else if (option == "--allow-uid") {
    AQUA_ASSIGN(const std::uint64_t uid,
                number(option, value, 0, std::numeric_limits<std::uint32_t>::max()));
    options.peers.allowed_uids.insert(static_cast<std::uint32_t>(uid));
  } else if (option == "--socket-group") {
    AQUA_ASSIGN(options.peers.group, group(option, value));
  } else if (option == "--tokens") {
    options.tokens = value;
    if (value.empty()) return bad(option, value, "a file");
  } else if (option.starts_with("--max-")) {
    return set_limit(options, option, value);
  } else if (option == "--log-level") {
    constexpr std::string_view kLevels[] = {"trace", "debug", "info", "warn", "error", "off"};
    options.log_level = value;
    if (std::find(std::begin(kLevels), std::end(kLevels), value) == std::end(kLevels)) {
      return bad(option, value, "trace, debug, info, warn, error or off");
    }
  } else {
    return unknown(option);
  }
  return {};
}

}  // namespace

Result<Options> parse_options(std::span<const char* const> arguments) {
  Options options;
  bool mode_given = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string_view option = arguments[i];
    mode_given = mode_given || option.starts_with("--socket-mode");
    if (option == "--help" || option == "-h") {
      options.help = true;
    } else if (option == "--version") {
      options.version = true;
    } else if (option == "--share-producers") {
      options.limits.share_producers = true;
    } else if (option == "--behind-proxy") {
      options.behind_proxy = true;
    } else if (option == "--share-device") {
      options.limits.share_device = true;
    } else if (const std::size_t equals = option.find('='); equals != std::string_view::npos) {
      AQUA_TRY(set_value(options, option.substr(0, equals), option.substr(equals + 1)));
    } else if (std::find(std::begin(kValued), std::end(kValued), option) == std::end(kValued)) {
      return unknown(option);
    } else if (i + 1 == arguments.size()) {
      return Error{Code::invalid_argument, concat(option, " needs a value")};
    } else {
      AQUA_TRY(set_value(options, option, arguments[++i]));
    }
  }
  if (options.data.empty()) options.data = DataDir::default_path();
  if (options.listen.path.empty() && options.listen.host.empty()) {
    AQUA_ASSIGN(options.listen,
                wire::parse_address(concat("unix:", options.data, "/coordinator.sock")));
  }
  if (options.tokens.empty()) options.tokens = concat(options.data, "/tokens");
  // A group that may connect must be able to open the file.
  if (options.peers.group && !mode_given) options.socket_mode = 0660;
  if (options.lifeline.empty()) options.lifeline = concat(options.data, "/lifeline.sock");
  // Clients in other directories are told this path.
  options.lifeline = std::filesystem::absolute(options.lifeline).lexically_normal();
  if (options.lifeline.size() > wire::kMaxPath) {
    return Error{Code::invalid_argument,
                 concat("--lifeline ", options.lifeline, ": the path has ", options.lifeline.size(),
                        " bytes; a Unix socket's has at most ", wire::kMaxPath)};
  }
  if (options.lifeline == options.listen.path) {
    return Error{Code::invalid_argument,
                 concat("--lifeline and --listen must differ: ", options.lifeline)};
  }
  return options;
}

std::string_view usage() {
  return R"(usage: aqua-coordinator [options]
       aqua-coordinator token issue|revoke|list, see token --help

Matches lenders and borrowers of GPU memory on this machine.

  --listen unix:PATH|HOST:PORT  where HTTP is served; HOST must be loopback
                                (default: unix:<data>/coordinator.sock)
  --data DIR                    locked data directory, created where missing
                                (default: $XDG_RUNTIME_DIR/aqua, else /tmp/aqua-UID)
  --lifeline PATH               socket where clients prove who they are
                                (default: <data>/lifeline.sock)
  --client-ttl MS               silence after which a client is suspect (3000)
  --lease-ttl MS                silence after which its leases are (5000)
  --share-producers             let several consumers borrow from one producer
  --share-device                let engines on one device borrow from each other
  --socket-mode OCTAL           mode of both sockets (600; 660 with --socket-group)
  --socket-group GROUP          group of both sockets; its members may connect, as engines
  --allow-uid UID               let this user connect too, as an engine; may be repeated
  --tokens FILE                 bearer tokens, hashed (default: <data>/tokens); made by
                                aqua-coordinator token issue
  --behind-proxy                a proxy stands between TCP and this daemon
  --max-watches N               long polls at one time; more get 503 (512)
  --max-rate N                  requests a second of one caller; more get 429 (5000)
  --max-concurrent N            requests at one time of one caller; more get 429 (64)
  --max-body BYTES              of a request; more get 413 (1048576, which is also the most)
  --max-head BYTES              of request line and headers; more get 431 (32768)
  --max-headers N               in a request; more get 431 (64)
  --max-connections N           that have not said what they want; more end the oldest (10000)
  --max-clients N               known at one time; more get 429 (1024)
  --max-slabs N                 put up by one client; more get 429 (65536)
  --log-level LEVEL             trace, debug, info, warn, error or off (info), to stderr
  --version, --help

Prints "listening on ADDRESS" to stdout when ready. SIGTERM and SIGINT end it.
)";
}

}  // namespace aqua::coordinator
