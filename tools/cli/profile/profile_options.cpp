// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/profile/profile_options.hpp"

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/http/http_client.hpp"
#include "tools/report/text.hpp"

namespace aqua::tool {
namespace {

constexpr const char* kAbout =
    R"(Usage: aqua profile --url URL --trace FILE --out FILE [options]
       aqua profile --url URL --kind image|audio --out FILE [options]

Loads a running engine through its OpenAI-compatible endpoint, finds the highest load that
meets the SLA, and tells what memory that leaves: whether the engine can lend, or wants to
borrow. Runtime::open() takes the file. docs/plan/profiling.md explains every figure.)";

Error bad(const std::string& what) {
  return Error{Code::invalid_argument, concat("profile: ", what)};
}

Result<void> set_sla(profiler::Sla& sla, std::string_view value) {
  const std::size_t comma = value.find(',');
  if (comma == value.npos) return Error{Code::invalid_argument, "expected TTFT,TBT"};
  AQUA_ASSIGN(sla.ttft_s, parse_between<double>(value.substr(0, comma), 1e-6, 1e6));
  AQUA_ASSIGN(sla.tbt_s, parse_between<double>(value.substr(comma + 1), 1e-6, 1e6));
  return {};
}

Result<void> set_bursts(std::vector<double>& bursts, std::string_view value) {
  bursts.clear();
  if (value == "off") return {};
  std::vector<std::string_view> factors;
  report::split_columns(value, factors);
  for (const std::string_view factor : factors) {
    AQUA_ASSIGN(const double wanted, parse_between<double>(factor, 1, 100));
    bursts.push_back(wanted);
  }
  return {};
}

void add_run(CommandLine& line, ProfileOptions& o) {
  line.group("The run")
      .text("--url", o.url, "URL", "http://HOST:PORT; a key for it is taken from $OPENAI_API_KEY")
      .text("--model", o.model, "NAME", "default: the first that the engine lists")
      .choice(
          "--kind", o.kind,
          {{"llm", ProfileKind::llm}, {"image", ProfileKind::image}, {"audio", ProfileKind::audio}},
          "KIND", "what the model makes: llm, image or audio")
      .text("--out", o.out, "FILE",
            "the profile; written after each step, so a stopped run leaves what it has")
      .flag("--json", o.json, "print the profile instead of a text, too")
      .flag("--resume", o.resume, "go on with the file of a run that was stopped")
      .text("--html", o.html, "FILE", "one page with plots")
      .number("--timeout", o.timeout, 1, 3600, "S",
              "an engine that says nothing for so many seconds hangs")
      .number("--speed", o.speed, 1e-3, 1e4, "X",
              "the engine's clock runs X times as fast as ours: a simulated one")
      .flag("--no-progress", o.progress,
            "no bar (there is none either where stderr is no terminal)", false);
}

void add_llm(CommandLine& line, ProfileOptions& o) {
  line.group("LLMs: the highest rate, by halving the range and then step by step")
      .text("--trace", o.trace, "FILE",
            "lengths of requests: Azure, BurstGPT or lengths CSV, Mooncake JSON lines")
      .number("--from", o.range.from, 1e-6, 1e6, "R", "least rate, requests a second")
      .number("--to", o.range.to, 1e-6, 1e6, "R", "highest rate")
      .number("--step", o.range.step, 1e-6, 1e6, "R", "between rates, in the end")
      .option(
          "--sla", "TTFT,TBT", "seconds: 99 of 100 first tokens, of 100 times between tokens",
          [&o](std::string_view value) { return set_sla(o.sla, value); },
          concat(o.sla.ttft_s, ",", o.sla.tbt_s))
      .number("--requests", o.requests, 10, 50'000, "N",
              "of a load; it ends when the outcome is clear")
      .number("--context", o.context, 2, 1'000'000'000, "N",
              "tokens of the longest request; default: what the engine says")
      .number("--chunk", o.chunk, 1, 1'000'000, "N",
              "what the engine computes at a time; only noted in the profile")
      .number("--seed", o.seed, 0, 4'000'000, "N", "of arrivals and lengths")
      .option(
          "--bursts", "F,F...|off", "times the stable rate, for swap space, unless it can lend",
          [&o](std::string_view value) { return set_bursts(o.bursts, value); }, "2,3")
      .number("--burst-seconds", o.burst_seconds, 1, 1e5, "S", "how long each burst lasts")
      .number("--prefix-prompts", o.prefix_prompts, 0, 1'000'000'000, "N",
              "swap space for so many cached prefixes, as long as the longest prompt")
      .number("--long-prompt", o.long_prompt, 0, 1'000'000'000, "N",
              "swap space for a context of so many tokens");
}

void add_others(CommandLine& line, ProfileOptions& o) {
  line.group("Image and audio models: batches of 1, 2, 4 ... until the throughput saturates")
      .text("--path", o.path, "PATH", "default: /v1/images/generations, /v1/audio/speech")
      .text("--body", o.body, "FILE",
            "JSON that asks for one item; default: one made up from --model")
      .number("--most-batch", o.most_batch, 1, 1024, "N", "the largest batch tried");
  line.group("Memory")
      .option(
          "--memory", "SOURCE", "auto, vllm, llama, prometheus, aqua, client",
          [&o](std::string_view value) -> Result<void> {
            AQUA_ASSIGN(o.memory.source, profiler::parse_memory_source(value));
            return {};
          },
          "auto")
      .number("--kv-bytes", o.memory.kv_bytes, 1, 1e15, "N",
              "the pool, where the engine does not tell")
      .number("--bytes-per-token", o.memory.bytes_per_token, 1, 1e9, "N",
              "KV of a token, which vLLM and llama.cpp do not tell")
      .text("--used-metric", o.memory.used_metric, "NAME", "of --memory prometheus, in bytes")
      .text("--total-metric", o.memory.total_metric, "NAME", "of --memory prometheus, in bytes")
      .number("--threshold-gb", o.threshold_gb, 0, 1e6, "G", "with so much free it is a producer");
}

Result<void> check(const ProfileOptions& options) {
  if (options.url.empty()) return bad("--url URL is missing: which engine?");
  if (options.out.empty()) return bad("--out FILE is missing: where is the profile to go?");
  AQUA_TRY(http::parse_url(options.url));
  if (options.kind == ProfileKind::llm && options.trace.empty())
    return bad("--trace FILE is missing: lengths are drawn from it");
  AQUA_TRY(profiler::RateSearch::create(options.range));
  const bool sized = options.prefix_prompts > 0 || options.long_prompt > 0;
  if (sized && options.memory.bytes_per_token <= 0)
    return bad("--prefix-prompts and --long-prompt need --bytes-per-token");
  return {};
}

}  // namespace

CommandLine profile_line(ProfileOptions& options) {
  CommandLine line("profile", kAbout);
  add_run(line, options);
  add_llm(line, options);
  add_others(line, options);
  return line;
}

Result<ProfileOptions> parse_profile_options(std::span<const std::string_view> arguments) {
  ProfileOptions options;
  AQUA_TRY(profile_line(options).parse(arguments));
  AQUA_TRY(check(options));
  return options;
}

}  // namespace aqua::tool
