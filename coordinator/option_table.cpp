// SPDX-License-Identifier: Apache-2.0
#include "coordinator/option_table.hpp"

#include <grp.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "coordinator/http/request_head.hpp"
#include "tools/curl/origin.hpp"
#include "wire/limits.hpp"

namespace aqua::coordinator {
namespace {

using Kind = OptionKind;

constexpr OptionSpec kTable[] = {
    {"listen", Kind::text, "unix:PATH|HOST:PORT",
     "where HTTP is served; HOST must be loopback (default: unix:<data>/coordinator.sock)"},
    {"data", Kind::text, "DIR",
     "locked data directory, created where missing (default: $XDG_RUNTIME_DIR/aqua, else "
     "/tmp/aqua-UID)"},
    {"lifeline", Kind::text, "PATH",
     "socket where clients prove who they are (default: <data>/lifeline.sock)"},
    {"store", Kind::text, "sqlite|memory",
     "where the ledger outlives the daemon: <data>/ledger.db, or nowhere (sqlite)"},
    {"leases-survive", Kind::text, "process|host",
     "what a granted lease is written through for: the daemon's death, or the machine's too "
     "(process)"},
    {"client-ttl", Kind::number, "MS", "silence after which a client is suspect (3000)"},
    {"lease-ttl", Kind::number, "MS", "silence after which its leases are (5000)"},
    {"share-producers", Kind::flag, "", "let several consumers borrow from one producer"},
    {"share-device", Kind::flag, "", "let engines on one device borrow from each other"},
    {"socket-mode", Kind::text, "OCTAL", "mode of both sockets (600; 660 with --socket-group)"},
    {"socket-group", Kind::text, "GROUP",
     "group of both sockets; its members may connect, as engines"},
    {"allow-uid", Kind::list, "UID", "let this user connect too, as an engine; may be repeated",
     true},
    {"tokens", Kind::text, "FILE",
     "bearer tokens, hashed (default: <data>/tokens); made by aqua-coordinator token issue"},
    {"tls-listen", Kind::text, "HOST:PORT",
     "where HTTP is served over TLS as well; HOST in numbers (default: nowhere)"},
    {"proxy-host", Kind::text, "NAME",
     "a proxy's name, in front of the daemon, for browsers that come through it (none)"},
    {"tls-cert", Kind::text, "FILE",
     "its certificate and those that lead to the authority, PEM; read again by SIGHUP"},
    {"tls-key", Kind::text, "FILE",
     "the certificate's key, PEM, mode 600 or root's 640; read again by SIGHUP"},
    {"server", Kind::text, "NAME", "what other servers call this one (its host's name)"},
    {"advertise", Kind::text, "https://HOST:PORT",
     "where operators of other servers ask this coordinator (nowhere)"},
    {"etcd", Kind::text, "URL[,URL]...",
     "members of the etcd where servers find each other, http:// or https://HOST:PORT (none)"},
    {"etcd-authority", Kind::text, "FILE",
     "of https: the authority that signs the members' certificates, PEM (the system's)"},
    {"etcd-user", Kind::text, "NAME", "who this is to etcd (nobody: no password is asked for)"},
    {"etcd-password", Kind::text, "FILE", "its password, the first line"},
    {"server-ttl", Kind::number, "MS",
     "silence after which other servers take this one for gone, whole seconds (10000)"},
    {"max-watches", Kind::number, "N", "long polls at one time; more get 503 (512)"},
    {"max-rate", Kind::number, "N", "requests a second of one caller; more get 429 (5000)"},
    {"max-concurrent", Kind::number, "N", "requests at one time of one caller; more get 429 (64)"},
    {"max-body", Kind::number, "BYTES",
     "of a request; more get 413 (1048576, which is also the most)"},
    {"max-head", Kind::number, "BYTES", "of request line and headers; more get 431 (32768)"},
    {"max-headers", Kind::number, "N", "in a request; more get 431 (64)"},
    {"max-connections", Kind::number, "N",
     "that have not said what they want; more end the oldest (10000)"},
    {"max-process-rate", Kind::number, "N",
     "requests a second of one process on the Unix socket; more wait, or are closed (1000)"},
    {"max-clients", Kind::number, "N", "known at one time; more get 429 (1024)"},
    {"max-slabs", Kind::number, "N", "put up by one client; more get 429 (65536)"},
    {"max-slabs-in-all", Kind::number, "N",
     "put up by all; one process has half, one user three quarters; more get 429 (262144)"},
    {"drain-timeout", Kind::number, "MS", "how long SIGTERM waits for replies under way (1000)"},
    {"log-format", Kind::text, "FORMAT", "text or json (text), to stderr"},
    {"log-level", Kind::text, "LEVEL", "trace, debug, info, warn, error or off (info)", true},
};

Error expected(std::string_view value, std::string_view what) {
  return Error{Code::invalid_argument, concat("'", value, "': expected ", what)};
}

Result<std::uint64_t> number(std::string_view value, std::uint64_t min, std::uint64_t max,
                             int base = 10) {
  std::uint64_t parsed = 0;
  const auto [end, fault] =
      std::from_chars(value.data(), value.data() + value.size(), parsed, base);
  if (value.empty() || fault != std::errc{} || end != value.data() + value.size() || parsed < min ||
      parsed > max) {
    return expected(value, base == 8 ? "an octal mode from 0 to 777"
                                     : concat("an integer from ", min, " to ", max));
  }
  return parsed;
}

Result<ledger::Time> duration(std::string_view value) {
  AQUA_ASSIGN(const std::uint64_t count, number(value, 1, wire::kMaxDurationMs));
  return ledger::Time{static_cast<ledger::Time::rep>(count)};
}

Result<bool> truth(std::string_view value) {
  if (value == "true") return true;
  if (value == "false") return false;
  return expected(value, "true or false");
}

// One of two words; true for the first.
Result<bool> either(std::string_view value, std::string_view first, std::string_view second) {
  if (value == first) return true;
  if (value == second) return false;
  return expected(value, concat(first, " or ", second));
}

// By name or number.
Result<gid_t> group(std::string_view value) {
  constexpr std::string_view kDigits = "0123456789";
  if (!value.empty() && value.find_first_not_of(kDigits) == std::string_view::npos) {
    AQUA_ASSIGN(const std::uint64_t gid, number(value, 0, std::numeric_limits<gid_t>::max() - 1));
    return static_cast<gid_t>(gid);
  }
  const ::group* found = ::getgrnam(std::string(value).c_str());
  if (found == nullptr) return expected(value, "a group's name or number");
  return found->gr_gid;
}

// True when `name` is a limit's.
Result<bool> set_limit(Options& options, std::string_view name, std::string_view value) {
  struct Limit {
    std::string_view name;
    std::size_t& place;
    std::uint64_t min;
    std::uint64_t max;
  };
  const Limit limits[] = {{"max-watches", options.max_watches, 1, 4096},
                          {"max-body", options.admission.body_bytes, 1024, wire::kMaxRequestBytes},
                          {"max-head", options.admission.head.bytes, 1024, std::size_t{1} << 20},
                          {"max-headers", options.admission.head.headers, 8, 1024},
                          {"max-rate", options.admission.quota.rate, 1, 1'000'000},
                          {"max-concurrent", options.admission.quota.concurrent, 2, 4096},
                          {"max-connections", options.max_connections, 16, 1'000'000},
                          {"max-process-rate", options.max_process_rate, 1, 1'000'000},
                          {"max-clients", options.limits.max_clients, 1, 65536},
                          {"max-slabs", options.limits.max_slabs_per_client, 1, 1 << 20},
                          {"max-slabs-in-all", options.limits.max_slabs, 1, 1 << 24}};
  for (const Limit& limit : limits) {
    if (limit.name != name) continue;
    AQUA_ASSIGN(limit.place, number(value, limit.min, limit.max));
    return true;
  }
  return false;
}

Result<void> set_path(std::string& path, std::string_view value, std::string_view what) {
  if (value.empty()) return expected(value, what);
  path = value;
  return {};
}

// Without scheme and port, as a browser names it.
Result<void> set_proxy_host(std::string& host, std::string_view value) {
  host = lower(value);
  const bool is_name = std::ranges::all_of(host, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
  });
  if (!host.empty() && is_name) return {};
  return expected(value, "a host's name");
}

Result<void> set_server_name(std::string& name, std::string_view value) {
  constexpr std::size_t kMost = 64;
  const bool is_name = std::ranges::all_of(value, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
  if (value.empty() || value.size() > kMost || !is_name)
    return expected(value, concat("1 to ", kMost, " of a-z, A-Z, 0-9, '.', '_' and '-'"));
  name = value;
  return {};
}

Result<void> set_members(std::vector<std::string>& members, std::string_view value) {
  members.clear();
  for (std::size_t from = 0; from <= value.size();) {
    const std::size_t comma = std::min(value.find(',', from), value.size());
    AQUA_ASSIGN(const curl::Origin member, curl::parse_origin(value.substr(from, comma - from)));
    members.push_back(to_string(member));
    from = comma + 1;
  }
  return {};
}

Result<void> set_advertised(std::string& address, std::string_view value) {
  AQUA_ASSIGN(const curl::Origin origin, curl::parse_origin(value));
  if (origin.scheme != "https") return expected(value, "https://HOST:PORT");
  address = to_string(origin);
  return {};
}

}  // namespace

std::span<const OptionSpec> option_table() {
  return kTable;
}

const OptionSpec* find_option(std::string_view name) {
  const auto* const found =
      std::ranges::find_if(kTable, [&](const OptionSpec& spec) { return name == spec.name; });
  return found == std::end(kTable) ? nullptr : found;
}

std::string environment_name(const OptionSpec& spec) {
  std::string name = concat("AQUA_COORDINATOR_", spec.name);
  std::ranges::transform(name, name.begin(), [](char c) {
    if (c == '-') return '_';
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return name;
}

Result<void> set_option(Options& options, std::string_view name, std::string_view value) {
  if (name == "data") return set_path(options.data, value, "a directory");
  if (name == "lifeline") return set_path(options.lifeline, value, "a path");
  if (name == "tokens") return set_path(options.tokens, value, "a file");
  if (name == "tls-cert") return set_path(options.tls.certificate, value, "a file");
  if (name == "tls-key") return set_path(options.tls.key, value, "a file");
  if (name == "proxy-host") return set_proxy_host(options.admission.proxy_host, value);
  if (name == "server") return set_server_name(options.server.name, value);
  if (name == "advertise") return set_advertised(options.server.coordinator, value);
  if (name == "etcd") return set_members(options.server.etcd.members, value);
  if (name == "etcd-authority") return set_path(options.server.etcd.authority, value, "a file");
  if (name == "etcd-user") return set_path(options.server.etcd.user, value, "a name");
  if (name == "etcd-password") return set_path(options.server.etcd.password_file, value, "a file");
  AQUA_ASSIGN(const bool is_limit, set_limit(options, name, value));
  if (is_limit) return {};
  if (name == "listen") {
    AQUA_ASSIGN(options.listen, wire::parse_address(value));
  } else if (name == "tls-listen") {
    AQUA_ASSIGN(options.tls_listen, wire::parse_address(value, wire::Hosts::any));
    if (options.tls_listen->is_unix()) return expected(value, "HOST:PORT");
  } else if (name == "store") {
    AQUA_ASSIGN(options.durable, either(value, "sqlite", "memory"));
  } else if (name == "leases-survive") {
    AQUA_ASSIGN(const bool process, either(value, "process", "host"));
    options.leases_survive = process ? Survives::process : Survives::host;
  } else if (name == "client-ttl") {
    AQUA_ASSIGN(options.limits.client_ttl, duration(value));
  } else if (name == "lease-ttl") {
    AQUA_ASSIGN(options.limits.lease_ttl, duration(value));
  } else if (name == "server-ttl") {
    AQUA_ASSIGN(const std::uint64_t ttl, number(value, 2000, 600'000));
    options.server.ttl = std::chrono::ceil<std::chrono::seconds>(std::chrono::milliseconds(ttl));
  } else if (name == "share-producers") {
    AQUA_ASSIGN(options.limits.share_producers, truth(value));
  } else if (name == "share-device") {
    AQUA_ASSIGN(options.limits.share_device, truth(value));
  } else if (name == "socket-group") {
    AQUA_ASSIGN(options.peers.group, group(value));
  } else if (name == "drain-timeout") {
    AQUA_ASSIGN(options.drain_timeout, duration(value));
  } else if (name == "socket-mode") {
    AQUA_ASSIGN(const std::uint64_t mode, number(value, 0, 0777, 8));
    options.socket_mode = static_cast<mode_t>(mode);
  } else if (name == "allow-uid") {
    AQUA_ASSIGN(const std::uint64_t uid,
                number(value, 0, std::numeric_limits<std::uint32_t>::max()));
    options.peers.allowed_uids.insert(static_cast<std::uint32_t>(uid));
  } else if (name == "log-format") {
    AQUA_ASSIGN(const bool text, either(value, "text", "json"));
    options.log_format = text ? LogFormat::text : LogFormat::json;
  } else if (name == "log-level") {
    constexpr std::string_view kLevels[] = {"trace", "debug", "info", "warn", "error", "off"};
    if (std::ranges::find(kLevels, value) == std::end(kLevels))
      return expected(value, "trace, debug, info, warn, error or off");
    options.log_level = value;
  } else {
    return Error{Code::internal, concat("option ", name, " is in the table only")};
  }
  return {};
}

}  // namespace aqua::coordinator
