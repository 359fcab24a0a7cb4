#include "options.hpp"

#include <charconv>
#include <functional>
#include <map>

#include "must.hpp"

namespace aqua::example {
namespace {

template <typename T>
T number(const std::string& option, std::string_view text, T least, T most) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size() && !text.empty();
  if (!whole || !(value >= least && value <= most)) {
    throw Failure(option + " " + std::string(text) + ": expected a number from " +
                  std::to_string(least) + " to " + std::to_string(most));
  }
  return value;
}

Options::Role role_of(std::string_view text) {
  if (text == "coordinator") return Options::Role::coordinator;
  if (text == "producer") return Options::Role::producer;
  if (text == "consumer") return Options::Role::consumer;
  throw Failure("--role " + std::string(text) + ": expected coordinator, producer or consumer");
}

using Setter = std::function<void(Options&, const std::string& option, std::string_view value)>;

const std::map<std::string, Setter, std::less<>>& setters() {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  static const std::map<std::string, Setter, std::less<>> table{
      {"--trace", [](auto& o, auto&, auto v) { o.workload.trace = v; }},
      {"--requests", [](auto& o, auto& n,
                        auto v) { o.workload.requests = number<std::size_t>(n, v, 1, 100'000); }},
      {"--seed", [](auto& o, auto& n,
                    auto v) { o.workload.seed = number<std::uint64_t>(n, v, 0, UINT64_MAX); }},
      {"--arrivals-in",
       [](auto& o, auto& n, auto v) { o.workload.arrivals_in = seconds(number(n, v, 1, 86'400)); }},
      {"--output-scale",
       [](auto& o, auto& n, auto v) { o.workload.output_scale = number(n, v, 0.001, 100.0); }},
      {"--iteration-ms",
       [](auto& o, auto& n, auto v) { o.iteration = milliseconds(number(n, v, 0, 1000)); }},
      {"--reclaim-at-mib",
       [](auto& o, auto& n, auto v) {
         o.reclaim_at_bytes = number<std::size_t>(n, v, 1, 1024) << 20;
       }},
      {"--reclaim-after",
       [](auto& o, auto& n, auto v) { o.reclaim_after = number(n, v, 0.0, 1.0); }},
      {"--timeout", [](auto& o, auto& n, auto v) { o.timeout = seconds(number(n, v, 1, 86'400)); }},
      {"--json", [](auto& o, auto&, auto v) { o.json = v; }},
      {"--coordinator-binary", [](auto& o, auto&, auto v) { o.coordinator = v; }},
      {"--role", [](auto& o, auto&, auto v) { o.role = role_of(v); }},
      {"--index", [](auto& o, auto& n, auto v) { o.index = number(n, v, 0U, 100U); }},
      {"--directory", [](auto& o, auto&, auto v) { o.directory = v; }},
      {"--parent", [](auto& o, auto& n, auto v) { o.parent = number<pid_t>(n, v, 1, INT32_MAX); }},
  };
  return table;
}

}  // namespace

Options parse_options(std::span<const char* const> arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string argument = arguments[i];
    const std::string name = argument.substr(0, argument.find('='));
    if (name == "--help" || name == "-h") {
      options.help = true;
      continue;
    }
    const auto setter = setters().find(name);
    if (setter == setters().end()) throw Failure("unknown option " + name + "; see --help");
    if (name.size() < argument.size()) {
      setter->second(options, name, std::string_view(argument).substr(name.size() + 1));
    } else if (i + 1 < arguments.size()) {
      setter->second(options, name, arguments[++i]);
    } else {
      throw Failure(name + " needs a value");
    }
  }
  return options;
}

std::string_view usage() {
  return R"(usage: elastic_offload [options]

Four emulated GPUs, an engine each, and a coordinator: six processes on this machine. Two
engines have memory to spare and lend it; two have caches too small for their load, and keep
the KV blocks of preempted sequences in the lent memory. Midway one lender wants its memory
back, gets it, and later lends it again. Every byte that moves is checked.

  --trace FILE             requests in the format of the Azure LLM inference traces
                           (default: made up in their shape)
  --requests N             how many of them, from the first on (240)
  --seed N                 of the made-up trace (1)
  --arrivals-in SECONDS    make them arrive in this time if they took longer (10)
  --output-scale X         multiply the number of output tokens (1)
  --iteration-ms MS        least time of a decoding step (10)
  --reclaim-after FRACTION of the requests that are done before memory is reclaimed (0.4) …
  --reclaim-at-mib MIB     … and how much of it must be in use, over both consumers (512)
  --json FILE              write the result
  --timeout SECONDS        give up (180)
  --coordinator-binary P   the aqua-coordinator program (default: of the same build)
  --help

Takes about 4 GiB of memory. The exit status is 0 only if no byte was wrong, and memory was
reclaimed and used again afterwards.
)";
}

}  // namespace aqua::example
