#include "coordinator/daemon.hpp"

#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/try.hpp"
#include "coordinator/listener.hpp"

namespace aqua::coordinator {
namespace {

// Watches hold a thread each; this many are left for everything else.
constexpr std::size_t kThreadsBesideWatches = 128;

HttpOptions http_options(const Options& options) {
  HttpOptions http;
  http.max_threads = options.max_watches + kThreadsBesideWatches;
  return http;
}

// Memory can be shared only within one boot of one machine.
std::string boot_id() {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
  return id.empty() ? "unknown" : id;
}

}  // namespace

Daemon::Daemon(const Options& options, DataDir data)
    : data_(std::move(data)),
      metrics_(AQUA_VERSION),
      journal_(metrics_),
      observer_(metrics_),
      service_(options.limits, options.max_watches, &journal_),
      api_{.service = service_,
           .sessions = sessions_,
           .journal = journal_,
           .metrics = metrics_,
           .observer = observer_,
           .readiness = readiness_,
           .version = AQUA_VERSION,
           .server = boot_id(),
           .lifeline = options.lifeline,
           .operators_need_session = !options.listen.is_unix()},
      http_(http_options(options)) {
  install_api(http_.routes(), api_);
}

Result<std::unique_ptr<Daemon>> Daemon::start(const Options& options) {
  (void)spdlog::default_logger();  // made before there are threads that log
  AQUA_ASSIGN(DataDir data, DataDir::open(options.data));
  std::unique_ptr<Daemon> daemon(new Daemon(options, std::move(data)));
  AQUA_ASSIGN(UniqueFd lifeline, listen_lifeline(options.lifeline, options.socket_mode));
  LifelineOptions lifeline_options;
  lifeline_options.allowed_uids = options.allowed_uids;
  lifeline_options.server = daemon->api_.server;
  AQUA_ASSIGN(daemon->lifeline_,
              LifelineServer::start(std::move(lifeline), std::move(lifeline_options),
                                    daemon->service_, daemon->sessions_));
  AQUA_ASSIGN(Listener listener, listen_stream(options.listen, options.socket_mode));
  daemon->address_ = listener.address;
  AQUA_TRY(daemon->http_.start(std::move(listener.fd)));
  daemon->readiness_.set(Readiness::State::ready);
  return daemon;
}

Daemon::~Daemon() {
  readiness_.set(Readiness::State::draining);
  // Only what this daemon made: each is set once it listens.
  if (address_.is_unix()) ::unlink(address_.path.c_str());
  if (lifeline_) ::unlink(api_.lifeline.c_str());
  service_.stop();
  http_.stop();
  lifeline_.reset();
}

}  // namespace aqua::coordinator
