// aqua-coordinator: options in, a daemon until a signal, an exit status out.
#include <pthread.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstdio>
#include <string>

#include "coordinator/daemon.hpp"
#include "coordinator/options.hpp"

namespace {

using aqua::coordinator::Daemon;
using aqua::coordinator::Options;

constexpr int kUsageError = 2;

// A client costs two descriptors, a request one.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) spdlog::warn("cannot raise RLIMIT_NOFILE");
}

int run(const Options& options) {
  aqua::coordinator::start_logging(options.log_format, options.log_level);
  ::umask(S_IRWXG | S_IRWXO);  // sockets are born private; --socket-mode opens them
  ::signal(SIGPIPE, SIG_IGN);
  // Blocked before the first thread starts, so that only sigwait() below gets them.
  sigset_t stop_signals;
  ::sigemptyset(&stop_signals);
  ::sigaddset(&stop_signals, SIGTERM);
  ::sigaddset(&stop_signals, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &stop_signals, nullptr);
  raise_descriptor_limit();

  auto daemon = Daemon::start(options);
  if (!daemon.ok()) {
    std::fprintf(stderr, "aqua-coordinator: %s\n", daemon.error().message.c_str());
    return 1;
  }
  std::printf("listening on %s\n", to_string((*daemon)->address()).c_str());
  std::fflush(stdout);
  int signal = 0;
  ::sigwait(&stop_signals, &signal);
  spdlog::info("signal {}: stopping", signal);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = aqua::coordinator::parse_options({argv + 1, argv + (argc > 0 ? argc : 1)});
  if (!options.ok()) {
    std::fprintf(stderr, "aqua-coordinator: %s\n", options.error().message.c_str());
    return kUsageError;
  }
  if (options->help) {
    std::fputs(std::string(aqua::coordinator::usage()).c_str(), stdout);
    return 0;
  }
  if (options->version) {
    std::printf("aqua-coordinator %s\n", AQUA_VERSION);
    return 0;
  }
  return run(*options);
}
