// SPDX-License-Identifier: Apache-2.0
// aqua-courier: a file of options in, a daemon until a signal, an exit status out.
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/courier/options.hpp"
#include "tools/daemon/descriptor_limit.hpp"
#include "tools/daemon/notify.hpp"
#include "tools/daemon/utc_text.hpp"
#include "tools/options/command_line.hpp"

namespace {

using nlohmann::json;

struct Given {
  std::string config{};
  bool check = false;
  bool json = false;
};

aqua::CommandLine line_of(Given& given) {
  aqua::CommandLine line("", R"(Usage: aqua-courier --config FILE [options]

Carries parcels of KV cache between the keepers of several servers, and copies of what they
keep, over TLS with a certificate on both sides; on a trusted network bytes go over UCX as well. Keeps nothing,
and can be killed at any time. Runs until SIGTERM; SIGHUP has it read its certificates again. docs/operate/courier.md)");
  line.text("--config", given.config, "FILE", "JSON: who it is, who may connect, what it carries")
      .flag("--check", given.check, "reads the file and the certificates, and ends")
      .flag("--json", given.json, "says what it says as lines of JSON");
  return line;
}

void tell(bool as_json, std::string_view event, const std::string& text) {
  std::fprintf(stdout, "%s\n",
               as_json ? json{{"time", aqua::daemon::utc_text(std::chrono::system_clock::now())},
                              {"event", event},
                              {"message", text}}
                             .dump(-1, ' ', false, json::error_handler_t::replace)
                             .c_str()
                       : text.c_str());
  std::fflush(stdout);
}

aqua::Result<int> run(const Given& given) {
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t signals;  // blocked before the first thread starts, so that only sigwait() gets them
  ::sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&signals, number);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  (void)aqua::daemon::raise_descriptor_limit();
  AQUA_ASSIGN(aqua::courier::CourierOptions options, aqua::courier::read_options(given.config));
  if (given.check) {
    AQUA_TRY(aqua::courier::MutualTls::load(options.files));
    tell(given.json, "checked", aqua::concat(given.config, ": as it has to be"));
    return 0;
  }
  const aqua::courier::Say say = [as_json = given.json](aqua::courier::Event event,
                                                        const std::string& what) {
    tell(as_json, to_string(event), what);
  };
  AQUA_ASSIGN(const auto courier, aqua::courier::Courier::start(std::move(options), say));
  tell(given.json, "listening",
       courier->port() == 0 ? "listening nowhere"
                            : aqua::concat("listening on port ", courier->port()));
  if (courier->metrics_port() != 0)
    tell(given.json, "metrics", aqua::concat("metrics on port ", courier->metrics_port()));
  if (const auto told = aqua::daemon::notify("READY=1", {}, std::chrono::seconds(2)); !told.ok()) {
    std::fprintf(stderr, "aqua-courier: %s\n", told.error().message.c_str());
  }
  for (int signal = 0;;) {
    if (::sigwait(&signals, &signal) != 0) continue;
    if (signal != SIGHUP) {
      // It keeps nothing: the keepers see this process end, as they would if it were killed, and
      // nothing is waited for that may be stopped.
      (void)aqua::daemon::notify("STOPPING=1");
      std::_Exit(0);
    }
    const auto read = courier->reload();
    tell(given.json, "reloaded",
         read.ok() ? "certificates were read again; all else takes a restart"
                   : aqua::concat(read.error().message, "; those in use stay"));
  }
}

int complain(const aqua::Error& error, int status) {
  std::fprintf(stderr, "aqua-courier: %s\n", error.message.c_str());
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  Given given;
  aqua::CommandLine line = line_of(given);
  if (aqua::asks_for_help(arguments)) {
    std::fputs(line.help().c_str(), stdout);
    return 0;
  }
  if (std::find(arguments.begin(), arguments.end(), "--version") != arguments.end()) {
    std::puts("aqua-courier " AQUA_VERSION);
    return 0;
  }
  if (const auto parsed = line.parse(arguments); !parsed.ok()) return complain(parsed.error(), 2);
  if (given.config.empty()) {
    return complain({aqua::Code::invalid_argument, "--config FILE is wanted (--help)"}, 2);
  }
  const auto ran = run(given);
  if (ran.ok()) return *ran;
  return complain(ran.error(), ran.error().code == aqua::Code::invalid_argument ? 2 : 1);
}
