// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/top/top_command.hpp"

#include <cstdlib>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/admin/operator.hpp"
#include "tools/cli/coordinator_option.hpp"
#include "tools/cli/status_report.hpp"
#include "tools/http/engine_answer.hpp"
#include "tools/http/http_client.hpp"

namespace aqua::tool {
namespace {

constexpr std::chrono::seconds kPatience{10};
constexpr std::size_t kMostRequests = 20;

Result<std::string> ask_router(http::HttpClient& client, const std::string& path) {
  AQUA_ASSIGN(http::Reply reply, client.get(path));
  if (reply.status == 200) return std::move(reply.body);
  return Error{Code::unavailable, concat("the router answers ", reply.status, " to ", path, ": ",
                                         http::error_text(reply.body))};
}

}  // namespace

CommandLine top_line(TopCommand& command) {
  CommandLine line("top", R"(Usage: aqua top [options]

What a fleet behind aqua-router does now: its engines, the requests on them, the moves between them,
and, where there is a coordinator, who lends memory to whom. Again and again until Ctrl-C.)");
  line.text("--router", command.router, "URL",
            "of aqua-router; a token for it is taken from $OPENAI_API_KEY")
      .text("--coordinator", command.coordinator, "ADDRESS",
            "else $AQUA_COORDINATOR, else the packaged one; \"none\": without")
      .number("--interval", command.interval, 10, 3'600'000, "MS", "between two looks")
      .flag("--once", command.once, "one look")
      .flag("--json", command.json, "for scripts, an object a line");
  return line;
}

Result<TopCommand> parse_top(std::span<const std::string_view> arguments) {
  TopCommand command;
  AQUA_TRY(top_line(command).parse(arguments));
  const auto url = http::parse_url(command.router);
  if (!url.ok()) return Error{url.error().code, concat("top: --router: ", url.error().message)};
  if (command.coordinator == "none") {
    command.coordinator.clear();
  } else if (!resolve_coordinator(command.coordinator, "top").ok()) {
    command.coordinator.clear();  // there is none, and nobody asked for one
  }
  return command;
}

Result<std::string> run_top(const TopCommand& command) {
  const char* const key = std::getenv("OPENAI_API_KEY");
  AQUA_ASSIGN(const http::EngineUrl url, http::parse_url(command.router));
  http::HttpClient client(url, {.api_key = key == nullptr ? "" : key, .timeout = kPatience});
  TopSources sources;
  AQUA_ASSIGN(sources.engines, ask_router(client, "/admin/v1/engines"));
  AQUA_ASSIGN(sources.requests, ask_router(client, "/admin/v1/requests"));
  AQUA_ASSIGN(sources.metrics, ask_router(client, "/metrics"));
  if (!command.coordinator.empty()) {
    AQUA_ASSIGN(const auto state, admin::fetch_state(command.coordinator));
    sources.memory = render_json(state, true);
  }
  return command.json ? render_top_json(sources) : render_top(sources, kMostRequests);
}

}  // namespace aqua::tool
