// SPDX-License-Identifier: Apache-2.0
#include "tools/router/serve/server.hpp"

#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <set>
#include <utility>

#include "base/concat.hpp"
#include "base/mutex.hpp"
#include "tools/http/listening.hpp"
#include "tools/router/observe/metrics.hpp"
#include "tools/router/serve/admin.hpp"
#include "tools/router/serve/completions.hpp"
#include "tools/router/serve/connection_threads.hpp"
#include "tools/router/serve/fenced_stream.hpp"
#include "tools/router/serve/page.hpp"
#include "tools/router/speech/told.hpp"

namespace aqua::router {
namespace {

constexpr std::size_t kMostPath = 512;
constexpr const char* kJsonType = "application/json";
constexpr std::string_view kTurnedAway =
    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n"
    "Connection: close\r\n\r\n";

// The request that this thread answers counts against its caller until it is over.
thread_local std::optional<access::Quota::Pass> this_pass;

HeadView view_of(const httplib::Request& request) {
  const auto value = [&](const char* name) -> std::string_view {
    const auto found = request.headers.find(name);
    return found == request.headers.end() ? std::string_view{} : found->second;
  };
  return {.method = request.method,
          .path = request.path,
          .host = value("Host"),
          .authorization = value("Authorization"),
          .content_type = value("Content-Type"),
          .content_length = value("Content-Length"),
          .has_transfer_encoding = request.has_header("Transfer-Encoding"),
          .has_content_encoding = request.has_header("Content-Encoding"),
          .from_page = request.has_header("Origin") || request.has_header("Sec-Fetch-Site")};
}

// The two as the library wants them. Nothing is marked as overriding: what is virtual differs by
// its release.
// NOLINTBEGIN(modernize-use-override)
class LibraryStream final : public httplib::Stream {
 public:
  explicit LibraryStream(FencedStream& stream) : stream_(stream) {}
  bool is_readable() const { return true; }
  bool is_writable() const { return stream_.client_is_there(); }
  bool wait_readable() const { return true; }
  bool wait_writable() const { return stream_.client_is_there(); }
  time_t duration() const { return 0; }
  ssize_t read(char* out, std::size_t size) { return stream_.read(out, size); }
  ssize_t write(const char* bytes, std::size_t size) { return stream_.write(bytes, size); }
  // Nothing here is decided by an address.
  void get_remote_ip_and_port(std::string& ip, int& port) const { ip.clear(), port = 0; }
  void get_local_ip_and_port(std::string& ip, int& port) const { ip.clear(), port = 0; }
  socket_t socket() const { return stream_.socket(); }

 private:
  FencedStream& stream_;
};
// NOLINTEND(modernize-use-override)

class LibraryThreads final : public httplib::TaskQueue {
 public:
  explicit LibraryThreads(ConnectionThreads& threads) : threads_(threads) {}
  // Answers nothing, or true in later releases.
  using Taken = decltype(std::declval<httplib::TaskQueue&>().enqueue(std::function<void()>()));
  Taken enqueue(std::function<void()> connection) override {
    threads_.serve(std::move(connection));
    return Taken(true);
  }
  void shutdown() override {}  // the connections live on while the server is bound again

 private:
  ConnectionThreads& threads_;
};

}  // namespace

// A connection is served here from its first byte to its last; the library parses and routes.
struct RouterServer::Impl : httplib::Server {
  Impl(const ServerOptions& options_, Fleet& fleet_, Counters& counters_)
      : options(options_),
        fleet(fleet_),
        counters(counters_),
        filter(options_.filter),
        threads(options_.connections) {
    fences.body_bytes = options.filter.most_body;
    fences.write = options.write;
    new_task_queue = [this] { return new LibraryThreads(threads); };
    set_keep_alive_max_count(1'000'000);
    set_payload_max_length(options.filter.most_body);
    set_tcp_nodelay(true);
    set_socket_options([](socket_t socket) {  // not SO_REUSEPORT: two would share a port in silence
      const int on = 1;
      (void)::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    });
    set_default_headers({{"X-Content-Type-Options", "nosniff"}, {"Cache-Control", "no-store"}});
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& reply) {
      return admit(request, reply) ? HandlerResponse::Unhandled : HandlerResponse::Handled;
    });
    set_exception_handler([](const httplib::Request&, httplib::Response& reply,
                             const std::exception_ptr&) {  // its text may hold anything
      answer_error(reply, 500, {Code::internal, "a bug of the router's"});
    });
    set_error_handler([](const httplib::Request&, httplib::Response& reply) {
      if (!reply.body.empty()) return;
      answer_error(reply, reply.status,
                   {reply.status == 404 ? Code::not_found : Code::invalid_argument,
                    reply.status == 404 ? "no such path" : "the request cannot be read"});
    });
    add_routes();
  }

  void add_routes() {
    Get("/healthz", [](const httplib::Request&, httplib::Response& reply) {
      reply.set_content("{}", kJsonType);
    });
    Get("/readyz", [this](const httplib::Request&, httplib::Response& reply) {
      const auto engine = fleet.any();
      if (!engine.ok()) return answer_error(reply, engine.error());
      reply.set_content("{}", kJsonType);
    });
    Get("/metrics", [this](const httplib::Request&, httplib::Response& reply) {
      reply.set_content(render_metrics(counters, fleet.counts(), fleet.engines()), kMetricsType);
    });
    Get("/v1/models", [this](const httplib::Request&, httplib::Response& reply) {
      const auto endpoint = fleet.model();
      if (!endpoint.ok()) return answer_error(reply, endpoint.error());
      reply.set_content(model_list((*endpoint)->model, (*endpoint)->max_tokens), kJsonType);
    });
    for (const auto& [path, api] : {std::pair{"/v1/completions", Api::completions},
                                    std::pair{"/v1/chat/completions", Api::chat}}) {
      Post(path, [this, api = api](const httplib::Request& request, httplib::Response& reply) {
        const CompletionContext context{fleet, counters, options.conversation,
                                        [this] { return cutting.load(); }};
        complete(context, api, request, reply);
      });
    }
    add_orders();
    install_page(*this);
  }

  void add_orders() {
    Get("/admin/v1/engines", [this](const httplib::Request&, httplib::Response& reply) {
      reply.set_content(engine_list(fleet.engines(), options.coordinator_page), kJsonType);
    });
    Get("/admin/v1/requests", [this](const httplib::Request& request, httplib::Response& reply) {
      const auto most = parse_most(request.get_param_value("most"));
      if (!most.ok()) return answer_error(reply, most.error());
      reply.set_content(request_list(fleet.requests(), *most), kJsonType);
    });
    Get("/admin/v1/moves", [this](const httplib::Request&, httplib::Response& reply) {
      reply.set_content(move_list(fleet.counts().moves, fleet.last_moves()), kJsonType);
    });
    const auto order = [](httplib::Response& reply, const Result<void>& done) {
      if (!done.ok()) return answer_error(reply, done.error());
      reply.set_content("{}", kJsonType);
    };
    constexpr const char* kDrain = R"(/admin/v1/engines/([\w.-]+)/drain)";
    Post(kDrain, [this, order](const httplib::Request& request, httplib::Response& reply) {
      order(reply, fleet.drain(request.matches[1]));
    });
    Delete(kDrain, [this, order](const httplib::Request& request, httplib::Response& reply) {
      order(reply, fleet.resume(request.matches[1]));
    });
    Post(R"(/admin/v1/requests/([\w-]+)/move)",
         [this, order](const httplib::Request& request, httplib::Response& reply) {
           const auto to = parse_move(request.body);
           if (!to.ok()) return answer_error(reply, to.error());
           order(reply, fleet.move(request.matches[1], to->engine, to->by_tokens));
         });
  }

  // False: answered already.
  bool admit(const httplib::Request& request, httplib::Response& reply) {
    std::optional<Refused> refused;
    if (request.target.size() > kMostPath) {
      refused = Refused{414, {Code::invalid_argument, "the target is too long"}};
    } else if (draining && request.path != "/healthz") {
      refused = Refused{503, {Code::unavailable, "the router is stopping"}};
    } else {
      refused = filter.refusal_of(view_of(request), this_pass);
    }
    if (!refused) return true;
    ++counters.refused;
    // Its body is on its way, and is not read.
    FencedStream::current().close_after_this();
    reply.set_header("Connection", "close");
    if (refused->status == 401)
      reply.set_header("WWW-Authenticate", "Bearer realm=\"aqua-router\"");
    if (refused->status == 429 || refused->status == 503) reply.set_header("Retry-After", "1");
    answer_error(reply, refused->status, refused->error);
    return false;
  }

  bool process_and_close_socket(socket_t socket) override {
    if (ConnectionThreads::full()) {
      (void)::send(socket, kTurnedAway.data(), kTurnedAway.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      ++counters.refused;
    } else {
      serve(socket);
    }
    ::shutdown(socket, SHUT_RDWR);
    ::close(socket);
    return true;
  }

  void serve(socket_t socket) {
    FencedStream stream(socket, fences);
    for (bool first = true; !stream.closing() && wait_idle(socket, stream, first); first = false) {
      bool closed = false;
      const bool went_well = answer_one(*this, stream, closed);
      this_pass.reset();
      {
        const MutexLock lock(mu);
        --active;
        changed.notify_all();
      }
      if (!went_well || closed) break;
    }
    if (stream.closing()) stream.linger();
  }

  // The library's own, which is told addresses too in later releases.
  template <typename Self>
  static bool answer_one(Self& self, FencedStream& fenced, bool& closed) {
    LibraryStream stream(fenced);
    // Every reply is whole: of a head full of ranges the library would make one that is thousands
    // of times as long, also for somebody without a token.
    const auto whole = [](httplib::Request& request) { request.ranges.clear(); };
    if constexpr (requires { self.process_request(stream, true, closed, whole); }) {
      return self.process_request(stream, self.draining, closed, whole);
    } else {
      return self.process_request(stream, "", 0, "", 0, self.draining, closed, whole);
    }
  }

  // Until the next request begins; drain() ends the wait. Who connects later is told why.
  bool wait_idle(socket_t socket, FencedStream& stream, bool first) {
    {
      const MutexLock lock(mu);
      idle.insert(socket);
      if (draining && !first) ::shutdown(socket, SHUT_RD);
    }
    const bool comes = stream.await_request();
    const MutexLock lock(mu);
    idle.erase(socket);
    active += comes ? 1 : 0;
    return comes;
  }

  // The library lets five connections wait, which a burst of them overruns.
  void widen() { (void)::listen(svr_sock_, SOMAXCONN); }

  const ServerOptions options;
  Fleet& fleet;
  Counters& counters;
  RequestFilter filter;
  FenceLimits fences;
  std::atomic<bool> draining{false}, cutting{false};
  Mutex mu;
  CondVar changed;
  std::size_t active AQUA_GUARDED_BY(mu) = 0;
  std::set<int> idle AQUA_GUARDED_BY(mu);
  int bound = 0;
  ConnectionThreads threads;
  std::optional<http::Listening> listening;
};

RouterServer::RouterServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<RouterServer>> RouterServer::start(const ServerOptions& options,
                                                          Fleet& fleet, Counters& counters) {
  auto impl = std::make_unique<Impl>(options, fleet, counters);
  impl->bound = options.port;
  if (options.port == 0) {
    impl->bound = impl->bind_to_any_port(options.host);
  } else if (!impl->bind_to_port(options.host, options.port)) {
    impl->bound = -1;
  }
  if (impl->bound <= 0) {
    return Error{Code::already_exists, concat("cannot listen at ", options.host, ":", options.port,
                                              ": the address is taken, or not this machine's")};
  }
  impl->widen();
  Impl& server = *impl;
  server.listening.emplace(server, [&server] {
    const bool is_bound = server.bind_to_port(server.options.host, server.bound);
    if (is_bound) server.widen();
    return is_bound;
  });
  return std::unique_ptr<RouterServer>(new RouterServer(std::move(impl)));
}

RouterServer::~RouterServer() {
  drain(std::chrono::steady_clock::now());
  impl_->listening.reset();
  impl_->threads.shutdown();
}

int RouterServer::port() const {
  return impl_->bound;
}

void RouterServer::drain(std::chrono::steady_clock::time_point until) {
  impl_->draining = true;
  const MutexLock lock(impl_->mu);
  for (const int socket : impl_->idle) ::shutdown(socket, SHUT_RD);
  while (impl_->active > 0 && impl_->changed.wait_until(impl_->mu, until)) continue;
  impl_->cutting = true;
}

}  // namespace aqua::router
