// SPDX-License-Identifier: Apache-2.0
// aqua-coordinator: options in, a daemon until a signal, an exit status out.
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include "coordinator/check_start.hpp"
#include "coordinator/common/log.hpp"
#include "coordinator/common/memory_reserve.hpp"
#include "coordinator/daemon.hpp"
#include "coordinator/options.hpp"
#include "coordinator/token_command.hpp"
#include "tools/daemon/descriptor_limit.hpp"
#include "tools/daemon/notify.hpp"

namespace {

using aqua::coordinator::Daemon;
using aqua::coordinator::need_restart;
using aqua::coordinator::Options;
using aqua::coordinator::parse_options;

constexpr int kUsageError = 2;
constexpr std::size_t kMemoryReserve = std::size_t{8} << 20;

// Blocked before the first thread starts, so that only sigwait() below gets them.
sigset_t block_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&signals, number);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

void tell(std::string_view state) {
  if (const auto told = aqua::daemon::notify(state); !told.ok())
    spdlog::warn("{}", told.error().message);
}

void reload(Daemon& daemon, Options& running, std::span<const char* const> arguments) {
  tell("RELOADING=1");
  const auto wanted = parse_options(arguments);
  if (!wanted.ok()) {
    spdlog::error("reload: nothing is changed: {}", wanted.error().message);
  } else {
    for (const std::string& name : need_restart(running, *wanted))
      spdlog::warn("reload: {} takes effect with the next start only", name);
    daemon.reload(*wanted);
    spdlog::set_level(spdlog::level::from_str(wanted->log_level));
    running.peers.allowed_uids = wanted->peers.allowed_uids;
    running.log_level = wanted->log_level;
    spdlog::info("reloaded");
  }
  tell("READY=1");
}

int run(Options options, std::span<const char* const> arguments) {
  aqua::coordinator::start_logging(options.log_format, options.log_level);
  ::umask(S_IRWXG | S_IRWXO);  // sockets are born private; --socket-mode opens them
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // a file at its limit is an error to be told, not an end
  const sigset_t signals = block_signals();
  // Long texts, which are rare, go back to the system at once. A second arena would take 64 MiB of
  // address space and keep what is freed there.
  ::mallopt(M_MMAP_THRESHOLD, 128 << 10);
  ::mallopt(M_ARENA_MAX, 1);
  aqua::coordinator::reserve_memory(kMemoryReserve);
  // A client costs two descriptors, a request one.
  if (!aqua::daemon::raise_descriptor_limit()) spdlog::warn("cannot raise RLIMIT_NOFILE");

  std::atomic<bool> failed{false};
  auto daemon = Daemon::start(options, [&](const aqua::Error& error) {
    if (failed.exchange(true)) return;
    spdlog::critical("{}: stopping; the next start begins with what is written", error.message);
    ::kill(::getpid(), SIGTERM);
  });
  if (!daemon.ok()) {
    std::fprintf(stderr, "aqua-coordinator: %s\n", daemon.error().message.c_str());
    return 1;
  }
  std::printf("listening on %s\n", to_string((*daemon)->address()).c_str());
  if (const auto& tls = (*daemon)->tls_address())
    std::printf("listening on https://%s\n", to_string(*tls).c_str());
  std::fflush(stdout);
  tell("READY=1");
  int signal = 0;
  while (::sigwait(&signals, &signal) == 0 && signal == SIGHUP)
    reload(**daemon, options, arguments);
  spdlog::info("signal {}: stopping", signal);
  tell("STOPPING=1");
  daemon->reset();
  return failed ? 1 : 0;
}

int tokens(std::span<const char* const> arguments) {
  const auto text = aqua::coordinator::token_command(arguments);
  if (text.ok()) return std::fputs(text->c_str(), stdout) < 0 || std::fflush(stdout) != 0 ? 1 : 0;
  std::fprintf(stderr, "aqua-coordinator: %s\n", text.error().message.c_str());
  return text.error().code == aqua::Code::invalid_argument ? kUsageError : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<const char* const> arguments(argv + 1, argc > 0 ? argv + argc : argv + 1);
  if (!arguments.empty() && std::string_view(arguments[0]) == "token")
    return tokens(arguments.subspan(1));
  auto options = aqua::coordinator::parse_options(arguments);
  if (!options.ok()) {
    std::fprintf(stderr, "aqua-coordinator: %s\n", options.error().message.c_str());
    return kUsageError;
  }
  if (options->help) {
    std::fputs(aqua::coordinator::usage().c_str(), stdout);
    return 0;
  }
  if (options->version) {
    std::printf("aqua-coordinator %s\n", AQUA_VERSION);
    return 0;
  }
  if (options->check_config) {
    aqua::coordinator::start_logging(options->log_format, options->log_level);
    if (const auto checked = aqua::coordinator::check_start(*options); !checked.ok()) {
      std::fprintf(stderr, "aqua-coordinator: %s\n", checked.error().message.c_str());
      return kUsageError;
    }
    std::fputs(aqua::coordinator::to_toml(*options).c_str(), stdout);
    return 0;
  }
  return run(*std::move(options), arguments);
}
