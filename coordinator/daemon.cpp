#include "coordinator/daemon.hpp"

#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "coordinator/http_library.hpp"
#include "coordinator/listener.hpp"

namespace aqua::coordinator {
namespace {

// Watches hold a thread each; this many are left for everything else.
constexpr std::size_t kThreadsBesideWatches = 128;

HttpOptions http_options(const Options& options) {
  HttpOptions http;
  http.local = options.listen.is_unix();
  http.peers = options.peers;
  http.max_connections = options.max_connections;
  http.max_threads = options.max_watches + kThreadsBesideWatches;
  return http;
}

// Memory can be shared only within one boot of one machine.
std::string boot_id() {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
  return id.empty() ? "unknown" : id;
}

// Over TCP everybody on this machine can send to the HTTP library. What is known to be wrong
// in an old one is guarded against; a proxy that reads requests first is wanted all the same.
Result<void> check_listen(const Options& options) {
  if (options.listen.is_unix() || options.behind_proxy || is_sound_http_library()) return {};
  return Error{Code::failed_precondition,
               concat("--listen ", to_string(options.listen), ": this build has cpp-httplib ",
                      CPPHTTPLIB_VERSION, ", older than ", kSoundHttpLibrary,
                      ", with known holes: listen on a Unix socket, or put a proxy in front and "
                      "say --behind-proxy")};
}

}  // namespace

Daemon::Daemon(const Options& options, DataDir data)
    : data_(std::move(data)),
      service_(options.limits, options.max_watches),
      tokens_(options.tokens),
      api_{.service = service_,
           .sessions = sessions_,
           .version = AQUA_VERSION,
           .server = boot_id(),
           .lifeline = options.lifeline},
      gate_(router_, sessions_, tokens_, options.gate),
      http_(http_options(options), gate_, service_.epoch()) {
  install_api(router_, api_);
}

Result<std::unique_ptr<Daemon>> Daemon::start(const Options& options) {
  (void)spdlog::default_logger();  // made before there are threads that log
  AQUA_TRY(check_listen(options));
  AQUA_ASSIGN(DataDir data, DataDir::open(options.data));
  std::unique_ptr<Daemon> daemon(new Daemon(options, std::move(data)));
  const SocketAccess access{options.socket_mode, options.peers.group};
  AQUA_ASSIGN(UniqueFd lifeline, listen_lifeline(options.lifeline, access));
  LifelineOptions lifeline_options;
  lifeline_options.peers = options.peers;
  lifeline_options.server = daemon->api_.server;
  AQUA_ASSIGN(daemon->lifeline_,
              LifelineServer::start(std::move(lifeline), std::move(lifeline_options),
                                    daemon->service_, daemon->sessions_));
  AQUA_ASSIGN(Listener listener, listen_stream(options.listen, access));
  daemon->address_ = listener.address;
  AQUA_TRY(daemon->http_.start(std::move(listener.fd)));
  return daemon;
}

Daemon::~Daemon() {
  // Only what this daemon made: each is set once it listens.
  if (address_.is_unix()) ::unlink(address_.path.c_str());
  if (lifeline_) ::unlink(api_.lifeline.c_str());
  service_.stop();
  http_.stop();
  lifeline_.reset();
}

}  // namespace aqua::coordinator
