// SPDX-License-Identifier: Apache-2.0
#include "tools/router/options.hpp"

#include <algorithm>

#include "base/concat.hpp"
#include "base/read_file.hpp"
#include "base/try.hpp"
#include "tools/access/host.hpp"
#include "tools/report/text.hpp"

namespace aqua::router {
namespace {

Error wrong(std::string_view option, std::string_view what) {
  return Error{Code::invalid_argument, concat(option, ": ", what)};
}

// "HOST:PORT", an IPv6 host in brackets.
Result<void> read_listen(RouterOptions& options) {
  const std::string& text = options.listen;
  const std::size_t colon = text.rfind(':');
  std::string host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const auto port =
      colon == text.npos ? std::nullopt : report::parse_number<int>(text.substr(colon + 1));
  if (host.empty() || !port || *port < 0 || *port > 65535)
    return wrong("--listen", concat(report::shown(text), ": expected HOST:PORT"));
  const bool is_local = access::is_loopback(std::string_view(text).substr(0, colon));
  if (!is_local && options.server.filter.tokens.empty() && !options.server.filter.open) {
    return wrong("--listen", concat(report::shown(text),
                                    " is reached from elsewhere: give --tokens FILE, or --open"));
  }
  options.server.host = std::move(host);
  options.server.port = *port;
  return {};
}

Result<void> read_engines(RouterOptions& options) {
  std::string key;
  if (!options.engine_key_file.empty()) {
    AQUA_ASSIGN(key, read_file(options.engine_key_file));
    while (!key.empty() && static_cast<unsigned char>(key.back()) <= ' ') key.pop_back();
    const bool clean = std::ranges::all_of(key, [](char c) { return c > ' ' && c <= '~'; });
    if (key.empty() || !clean) return wrong("--engine-key", "the file holds no key");
  }
  if (options.engine_texts.empty()) return wrong("--engine", "one at least is wanted: NAME=URL");
  for (const std::string& text : options.engine_texts) {
    auto endpoint = parse_engine(text);
    if (!endpoint.ok()) return wrong("--engine", endpoint.error().message);
    endpoint->api_key = key;
    options.engines.push_back(*std::move(endpoint));
  }
  return {};
}

}  // namespace

CommandLine router_line(RouterOptions& options) {
  CommandLine line("", R"(Usage: aqua-router --engine NAME=URL [--engine NAME=URL ...] [options]

One OpenAI-compatible endpoint in front of several engines of one model: completions and
chat, as events or whole. Answers move between engines while they are told, and go on where
an engine dies. Runs until SIGTERM, which lets answers end. docs/operate/router.md)");
  ConversationOptions& talk = options.server.conversation;
  std::string policies;
  for (const std::string& name : packing::packer_names())
    policies += concat(policies.empty() ? "" : ", ", name);
  line.list("--engine", options.engine_texts, "NAME=URL",
            "vLLM, llama-server, or another that takes and tells token ids as they do; again for "
            "each engine")
      .text("--engine-key", options.engine_key_file, "FILE", "holds the key that engines want")
      .text("--policy", options.fleet.policy, "NAME",
            concat("which engine has which request: ", policies))
      .number("--epoch", options.fleet.epoch, 10, 600'000, "MS", "from plan to plan")
      .number("--watermark", options.fleet.packing.watermark, 0, 0.5, "SHARE",
              "of an engine that is left free for growth")
      .group("Clients")
      .text("--listen", options.listen, "HOST:PORT", "port 0: any that is free")
      .text("--tokens", options.server.filter.tokens, "FILE",
            "who may, as of aqua-coordinator token; without it everybody on this machine")
      .flag("--open", options.server.filter.open,
            "lets everybody in from other machines too, without tokens")
      .text("--coordinator-page", options.server.coordinator_page, "URL",
            "of the coordinator's page, where lent memory is shown: the router's own links there")
      .number("--connections", options.server.connections, 1, 65536, "N",
              "at one time, each with a thread; more get a 503")
      .number("--max-rate", options.server.filter.quota.rate, 1, 1'000'000, "N",
              "requests a second of one token")
      .number("--max-concurrent", options.server.filter.quota.concurrent, 1, 65536, "N",
              "requests at one time of one token")
      .number("--max-body", options.server.filter.most_body, 1024, std::size_t{1} << 30, "BYTES",
              "of a request")
      .number("--max-behind", talk.most_behind, 16, 1U << 30, "TOKENS",
              "that a client may be behind; then its answer ends")
      .number("--write-timeout", options.server.write, 100, 3'600'000, "MS",
              "that a client may take to read what was written")
      .group("Time limits")
      .number("--silence", talk.silence, 1, 86'400, "S",
              "without a token, after which an attempt is given up")
      .number("--place-timeout", talk.place, 1, 86'400'000, "MS",
              "that a request waits for an engine with room")
      .number("--hold", talk.hold, 1, 600'000, "MS",
              "that a move may keep a client waiting; then it is off")
      .number("--health", options.fleet.health, 50, 600'000, "MS", "from check to check")
      .number("--rest", options.fleet.shy, 1, 600'000, "MS",
              "that an engine gets nothing new after it refused or broke off")
      .number("--drain-timeout", options.drain, 0, 86'400, "S",
              "that answers may take to end after SIGTERM")
      .group("Output")
      .flag("--json", options.json, "says what it says in JSON, an object a line");
  return line;
}

Result<RouterOptions> parse_router_options(std::span<const std::string_view> arguments) {
  RouterOptions options;
  CommandLine line = router_line(options);
  AQUA_TRY(line.parse(arguments));
  AQUA_TRY(read_engines(options));
  AQUA_TRY(read_listen(options));
  // A browser would run other kinds of addresses as scripts.
  const std::string& page = options.server.coordinator_page;
  if (!page.empty() && !page.starts_with("http://") && !page.starts_with("https://"))
    return wrong("--coordinator-page", concat(report::shown(page), ": expected http(s)://…"));
  return options;
}

}  // namespace aqua::router
