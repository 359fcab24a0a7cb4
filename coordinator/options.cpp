#include "coordinator/options.hpp"

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
    "--data",        "--listen",      "--lifeline",  "--client-ttl", "--lease-ttl",
    "--max-watches", "--socket-mode", "--allow-uid", "--log-level",  "--log-format"};

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
  } else if (option == "--max-watches") {
    AQUA_ASSIGN(options.max_watches, number(option, value, 1, 4096));
  } else if (option == "--socket-mode") {
    AQUA_ASSIGN(const std::uint64_t mode, number(option, value, 0, 0777, 8));
    options.socket_mode = static_cast<mode_t>(mode);
  } else if (option == "--allow-uid") {
    AQUA_ASSIGN(const std::uint64_t uid,
                number(option, value, 0, std::numeric_limits<std::uint32_t>::max()));
    options.allowed_uids.insert(static_cast<std::uint32_t>(uid));
  } else if (option == "--log-format") {
    if (value != "text" && value != "json") return bad(option, value, "text or json");
    options.log_format = value == "json" ? LogFormat::json : LogFormat::text;
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
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string_view option = arguments[i];
    if (option == "--help" || option == "-h") {
      options.help = true;
    } else if (option == "--version") {
      options.version = true;
    } else if (option == "--share-producers") {
      options.limits.share_producers = true;
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
  --max-watches N               long polls at one time; more get 503 (512)
  --socket-mode OCTAL           mode of both sockets (600)
  --allow-uid UID               let this user connect too; may be repeated
  --log-format FORMAT           text or json (text), to stderr
  --log-level LEVEL             trace, debug, info, warn, error or off (info)
  --version, --help

Prints "listening on ADDRESS" to stdout when ready. SIGTERM and SIGINT end it.
)";
}

}  // namespace aqua::coordinator
