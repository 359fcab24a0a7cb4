// SPDX-License-Identifier: Apache-2.0
// aqua-router: options in, a router until a signal, an exit status out.
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/daemon/descriptor_limit.hpp"
#include "tools/daemon/notify.hpp"
#include "tools/router/options.hpp"

namespace {

using nlohmann::json;

void say(bool as_json, const json& object, const std::string& text) {
  std::printf("%s\n", as_json ? object.dump().c_str() : text.c_str());
  std::fflush(stdout);
}

aqua::Result<int> run(const aqua::router::RouterOptions& options) {
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t signals;  // blocked before the first thread starts, so that only sigwait() gets them
  ::sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT}) ::sigaddset(&signals, number);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  // A stream takes three: client, source, destination.
  (void)aqua::daemon::raise_descriptor_limit();
  aqua::router::Counters counters;
  AQUA_ASSIGN(const auto fleet, aqua::router::Fleet::open(options.fleet, options.engines));
  AQUA_ASSIGN(const auto server,
              aqua::router::RouterServer::start(options.server, *fleet, counters));
  const std::string address = aqua::concat(options.server.host, ":", server->port());
  say(options.json, {{"event", "listening"}, {"address", address}},
      aqua::concat("listening on ", address));
  if (const auto told = aqua::daemon::notify("READY=1", {}, std::chrono::seconds(2)); !told.ok())
    std::fprintf(stderr, "aqua-router: %s\n", told.error().message.c_str());
  int signal = 0;
  while (::sigwait(&signals, &signal) != 0) continue;
  (void)aqua::daemon::notify("STOPPING=1");
  const auto left = fleet->counts().requests;
  say(options.json, {{"event", "stopping"}, {"requests", left}},
      aqua::concat("stopping: ", left, " requests to end"));
  server->drain(std::chrono::steady_clock::now() + options.drain);
  return 0;
}

int complain(bool as_json, const aqua::Error& error, int status) {
  if (as_json) {
    const json object{
        {"event", "error"}, {"code", aqua::to_string(error.code)}, {"message", error.message}};
    std::fprintf(stderr, "%s\n",
                 object.dump(-1, ' ', false, json::error_handler_t::replace).c_str());
  } else {
    std::fprintf(stderr, "aqua-router: %s\n", error.message.c_str());
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  const auto given = [&](const char* name) {
    return std::find(arguments.begin(), arguments.end(), name) != arguments.end();
  };
  if (aqua::asks_for_help(arguments)) {
    aqua::router::RouterOptions defaults;
    std::fputs(aqua::router::router_line(defaults).help().c_str(), stdout);
    return 0;
  }
  if (given("--version")) {
    std::puts("aqua-router " AQUA_VERSION);
    return 0;
  }
  const auto options = aqua::router::parse_router_options(arguments);
  if (!options.ok()) return complain(given("--json"), options.error(), 2);
  const auto ran = run(*options);
  return ran.ok() ? *ran : complain(options->json, ran.error(), 1);
}
