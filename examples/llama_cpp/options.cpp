#include "options.hpp"

#include <charconv>
#include <functional>
#include <map>
#include <string>

#include "must.hpp"

namespace aqua::llama_example {
namespace {

using example::Failure;

template <typename T>
T number(const std::string& option, std::string_view text, T least, T most) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size() && !text.empty();
  if (!whole || value < least || value > most) {
    throw Failure(option + " " + std::string(text) + ": expected a number from " +
                  std::to_string(least) + " to " + std::to_string(most));
  }
  return value;
}

Options::Role role_of(std::string_view text) {
  if (text == "coordinator") return Options::Role::coordinator;
  if (text == "lender") return Options::Role::lender;
  throw Failure("--role " + std::string(text) + ": expected coordinator or lender");
}

using Setter = std::function<void(Options&, const std::string& option, std::string_view value)>;

Setter count(unsigned Options::*field, unsigned least, unsigned most) {
  return [=](Options& o, const std::string& name, std::string_view value) {
    o.*field = number(name, value, least, most);
  };
}
Setter path(std::filesystem::path Options::*field) {
  return [=](Options& o, const std::string&, std::string_view value) { o.*field = value; };
}

const std::map<std::string, Setter, std::less<>>& setters() {
  static const std::map<std::string, Setter, std::less<>> table{
      {"--model", path(&Options::model)},
      {"--conversations", count(&Options::conversations, 1, 10'000)},
      {"--slots", count(&Options::slots, 1, 64)},
      {"--prompt-tokens", count(&Options::prompt_tokens, 8, 100'000)},
      {"--output-tokens", count(&Options::output_tokens, 2, 100'000)},
      {"--slice", count(&Options::slice, 1, 100'000)},
      {"--context", count(&Options::context, 16, 100'000)},
      {"--rounds", count(&Options::rounds, 0, 1000)},
      {"--recomputations", count(&Options::recomputations, 1, 100)},
      {"--threads", count(&Options::threads, 1, 256)},
      {"--json", path(&Options::json)},
      {"--coordinator-binary", path(&Options::coordinator)},
      {"--role", [](auto& o, auto&, auto v) { o.role = role_of(v); }},
      {"--directory", path(&Options::directory)},
      {"--lend-bytes",
       [](auto& o, auto& n, auto v) { o.lend_bytes = number<std::size_t>(n, v, 1, SIZE_MAX); }},
      {"--parent", [](auto& o, auto& n, auto v) { o.parent = number<pid_t>(n, v, 1, INT32_MAX); }},
  };
  return table;
}

bool set_flag(Options& options, std::string_view name) {
  if (name == "--help" || name == "-h")
    options.help = true;
  else if (name == "--no-recompute")
    options.recompute = false;
  else if (name == "--flip-a-byte")
    options.flip = true;
  else
    return false;
  return true;
}

}  // namespace

Options parse_options(std::span<const char* const> arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string argument = arguments[i];
    if (set_flag(options, argument)) continue;
    const std::string name = argument.substr(0, argument.find('='));
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
  return R"(usage: llama_cpp --model FILE.gguf [options]

llama.cpp on the CPU serves more conversations than its KV cache holds. Preempted ones wait in
AquaTensors, in memory lent by another process (an emulated GPU); midway the lender takes all
of it back, and later lends it again. The same conversations are run without preemption, with
llama.cpp's own save to process memory, and with recomputation. Tokens and logits must be equal
to the last bit, except after recomputation. Then resuming is timed at a long context.

  --model FILE             any GGUF model ($AQUA_LLAMA_MODEL); scripts/llama fetches SmolLM2-135M
  --conversations N        (40)
  --slots N                of them that the KV cache holds (6)
  --prompt-tokens N        on average (160)
  --output-tokens N        of each (48); the end-of-text token does not end a conversation
  --slice N                tokens that it may produce while others wait (12)
  --context N              tokens of context at which resuming is timed (2000) …
  --rounds N               … so many times; 0: not at all (15)
  --recomputations N       … against so many recomputations (3)
  --no-recompute           leave out the run that drops and recomputes, which takes longest
  --threads N              of llama.cpp (1; it spins between layers, so more only pay on idle cores)
  --flip-a-byte            damage one parked byte: the run must fail, or its checks are worthless
  --json FILE              write the result
  --coordinator-binary P   the aqua-coordinator program (default: of the same build)
  --help

The exit status is 0 only if every check held.
)";
}

}  // namespace aqua::llama_example
