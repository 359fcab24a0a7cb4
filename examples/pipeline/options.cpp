// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "daemon_program.hpp"
#include "must.hpp"

namespace aqua::pipeline {
namespace {

constexpr std::string_view kStandby = "standby";
constexpr unsigned kMostHosts = 7;

constexpr const char* kAbout = R"(Usage: pipeline [options]

Serves requests with pipelines of real processes: SxR is S stages of R tensor-parallel ranks, one
process each, connected by Unix sockets. With --prefill and --decode the KV of a prompt is streamed
from one pipeline to the other while it is computed; their shapes may differ in every way. The model is a toy in integers, whose attention sums over
every byte of the KV cache: one wrong byte changes the tokens. The KV lies in paged blocks of
emulated devices. Processes are members of a group at a coordinator, which says who has which rank
in which term. One that is killed is replaced, and no token is lost: its KV is computed again or,
with --replicate, read from the copies that each process keeps with the keeper. With --hosts stages
and daemons run on several hosts, which are namespaces of this machine. The same requests are then
answered by one process; all tokens must be equal.

The exit status is 0 only if they are.)";

Result<Kill> parse_kill(std::string_view text) {
  const Error wrong{
      Code::invalid_argument,
      "expected PIPELINE:STAGE[:RANK]@PERCENT% or @STEP, or PIPELINE:standby@PERCENT%, "
      "a step being listening, surveyed, acknowledged, restoring, restored, resumed, connected, "
      "streaming, streamed, taking, taken or stepped"};
  const std::size_t colon = text.find(':'), at = text.find('@');
  if (colon == std::string_view::npos || at == std::string_view::npos || at < colon) return wrong;
  Kill kill{.pipeline = std::string(text.substr(0, colon))};
  const std::string_view when = text.substr(at + 1);
  if (std::ranges::find(kNamedSteps, when) != kNamedSteps.end()) {
    kill.step = when;
  } else {
    const auto percent = parse_between(when.substr(0, when.find('%')), 0U, 99U);
    if (!percent.ok() || !when.ends_with('%')) return wrong;
    kill.percent = *percent;
  }
  std::string_view stage = text.substr(colon + 1, at - colon - 1);
  std::string_view rank = "0";
  if (stage == kStandby) {
    kill.standby = true;
    return kill;
  }
  if (const std::size_t second = stage.find(':'); second != std::string_view::npos) {
    rank = stage.substr(second + 1);
    stage = stage.substr(0, second);
  }
  const auto parsed_stage = parse_between(stage, 0U, 1000U);
  const auto parsed_rank = parse_between(rank, 0U, 1000U);
  if (!parsed_stage.ok() || !parsed_rank.ok()) return wrong;
  kill.stage = *parsed_stage;
  kill.rank = *parsed_rank;
  return kill;
}

// Why that cannot be, beside those before it.
std::optional<std::string> refusal(const Kill& kill, const Options& options,
                                   const std::vector<Kill>& before) {
  if (kill.cuts && kill.pipeline != kHost) return "hosts alone are cut off";
  if (kill.standby && is_daemon(kill)) return "nobody stands by for a daemon";
  if (kill.pipeline == kCoordinator) {
    if (options.hosts > 0) return "each host has one: kill a host";
    return kill.stage == 0 ? std::nullopt : std::optional<std::string>("there is one coordinator");
  }
  if (kill.pipeline == kKeeper) {
    if (options.has_keeper() && kill.stage == 0) return {};
    return "wants one server, with --replicate or --prefill, which has one keeper";
  }
  if (kill.stops && is_daemon(kill)) return "nobody finds that this daemon is stopped";
  if (kill.pipeline == kHost) {
    const bool again = std::ranges::find(before, kHost, &Kill::pipeline) != before.end();
    if (kill.stage < options.hosts && kill.step.empty() && !again) return {};
    return "wants --hosts, and a time, and to be said once";
  }
  if (kill.pipeline == kCourier) {
    if (kill.stage < options.hosts && kill.step.empty()) return {};
    if (!options.two_servers.empty() && kill.step.empty() && kill.stage <= 1) return {};
    return "wants --two-servers or --hosts, and a time";
  }
  if (kill.pipeline == kServer) {
    const bool again = std::ranges::find(before, kServer, &Kill::pipeline) != before.end();
    const bool mirrored = !options.two_servers.empty() && !options.prefill;
    if (mirrored && kill.step.empty() && kill.stage == 0 && !again) return {};
    return "wants --two-servers and --replicate, and a time, and to be said once";
  }
  const PipelineShape* const shape = shape_of(options, kill.pipeline);
  if (shape != nullptr && kill.standby) {
    if (options.standby && kill.step.empty()) return {};
    return "wants --standby, and a time";
  }
  if (shape == nullptr || kill.stage >= shape->stages || kill.rank >= shape->ranks)
    return "there is no such process";
  const auto same = [&](const Kill& other) {
    return !other.step.empty() && other.stops == kill.stops && other.pipeline == kill.pipeline &&
           other.stage == kill.stage && other.rank == kill.rank;
  };
  if (!kill.step.empty() && std::ranges::any_of(before, same))
    return "a process dies, or is stopped, at one step";
  return {};
}

// `shape` may be optional.
template <typename Shape>
void add_shape(CommandLine& line, const std::string& name, Shape& shape, const std::string& help) {
  std::string fallback;
  if constexpr (std::is_same_v<Shape, PipelineShape>) fallback = to_string(shape);
  line.option(
      name, "SxR", help,
      [&shape](std::string_view text) -> Result<void> {
        const auto parsed = parse_shape(text);
        if (!parsed) return Error{Code::invalid_argument, "expected stages x ranks, such as 2x2"};
        shape = *parsed;
        return {};
      },
      fallback);
}

void add_stage_options(CommandLine& line, Options& options) {
  line.group("")  // not in the help
      .flag("--stage-role", options.stage_role, "")
      .flag("--keeper-role", options.keeper_role, "")
      .flag("--courier-role", options.courier_role, "")
      .flag("--coordinator-role", options.coordinator_role, "")
      .flag("--host-role", options.host_role, "")
      .flag("--etcd-role", options.etcd_role, "")
      .number("--enter", options.enter, 1, INT32_MAX, "PID", "")
      .text("--address", options.address, "ADDRESS", "")
      .text("--server", options.server, "NAME", "")
      .text("--etcd", options.etcd, "MEMBERS", "")
      .text("--network", options.network, "NAME", "")
      .flag("--log-steps", options.log_steps, "")
      .text("--pipeline", options.place.pipeline, "NAME", "")
      .number("--stage", options.place.stage, 0, 1000, "N", "")
      .number("--rank", options.place.rank, 0, 1000, "N", "")
      .text("--coordinator", options.coordinator, "ADDRESS", "")
      .text("--member", options.member, "NAME", "")
      .text("--directory", options.directory, "DIR", "")
      .number("--parent", options.parent, 1, INT32_MAX, "PID", "");
  add_shape(line, "--shape", options.place.shape, "");
}

void check_hosts(const Options& options) {
  if (options.hosts == 0 && options.over_ucx) throw example::Failure("--carrier wants --hosts");
  if (options.hosts == 0) return;
  if (options.hosts < 3)
    throw example::Failure(
        "--hosts wants three at least: an etcd of fewer ends with the first that is lost");
  if (options.certificates.empty()) throw example::Failure("--hosts wants --certificates");
  // A courier has 64 connections: these, those of others to it, and a mirror.
  constexpr unsigned kMostPairs = 31;
  if (options.prefill && options.prefill->processes() * options.decode->processes() > kMostPairs)
    throw example::Failure("--hosts: couriers have connections for 31 pairs of ranks at most");
  if (!options.two_servers.empty() || !options.record.empty() || options.ttl_ms > 0)
    throw example::Failure("--hosts goes with none of --two-servers, --record and --ttl-ms");
}

}  // namespace

bool is_daemon(const Kill& kill) {
  return kill.pipeline == kKeeper || kill.pipeline == kCourier || kill.pipeline == kServer ||
         kill.pipeline == kCoordinator || kill.pipeline == kHost;
}

CommandLine options_line(Options& options) {
  CommandLine line("", kAbout);
  add_shape(line, "--colocated", options.colocated, "one pipeline for prompts and answers ...");
  add_shape(line, "--prefill", options.prefill, "... or one for prompts, whose KV is streamed ...");
  add_shape(line, "--decode", options.decode, "... to one for answers");
  line.number("--requests", options.requests, 1, 10'000, "N", "in all")
      .number("--batch", options.batch, 1, kMostBatch, "N", "that are answered at the same time")
      .number("--prompt-tokens", options.prompt_tokens, 2, 10'000, "N", "on average")
      .number("--answer-tokens", options.answer_tokens, 1, 10'000, "N", "of each")
      .number("--seed", options.seed, 0, UINT64_MAX, "N", "of prompts and samplers")
      .number("--layers", options.model.layers, 1, 256, "N", "of the model")
      .number("--kv-heads", options.model.kv_heads, 1, 64, "N",
              "of the model; twice as many query heads")
      .number("--block-tokens", options.cache.tokens_per_block, 1, 1024, "N",
              "of a block of the KV cache")
      .flag("--heads-first", options.cache.heads_first,
            "a block is [head][token], in place of [token][head]")
      .flag("--replicate", options.replicate,
            "copies of the KV are kept by the keeper while answers are generated")
      .flag("--standby", options.standby, "a process of each pipeline stands by for one that dies")
      .list(
          "--kill", options.kill, "PIPELINE:STAGE[:RANK]@PERCENT%|@STEP",
          "kill that process once so many of all tokens are there, or where it gets to that "
          "step; again and again. PIPELINE:standby is who stands by, keeper:0 the keeper and "
          "coordinator:0 the coordinator, of which another life begins at once, courier:0 the "
          "courier of prefill's server, courier:1 that of decode's, or courier:N that of a host, "
          "server:0 all that runs on the first of two servers, host:N all that runs on that host, "
          "whose link is cut. What happens at a step happens at the start and once more "
          "after a death")
      .list("--stop", options.stop, "PIPELINE:STAGE[:RANK]@PERCENT%|@STEP",
            "likewise, stop it (SIGSTOP), of which its pidfd does not tell ...")
      .list("--cut", options.cut, "host:N@PERCENT%",
            "likewise, cut that host off: what runs on it lives on, and nobody reaches it any more")
      .number("--ttl-ms", options.ttl_ms, 0, 60'000, "N",
              "... the coordinator calls each process silent that it has not heard of for so long, "
              "and who is silent for as long again is killed and replaced; 0: nobody is. A "
              "coordinator or keeper that is stopped goes on after so long")
      .flag("--compare", options.compare,
            "serve the requests undisturbed, too, and with the same deaths without replicas, and "
            "from scratch; print the latencies side by side")
      .flag("--flip-a-byte", options.flip,
            "damage one byte of a key behind its prompt: the run must fail, or proves nothing")
      .text("--two-servers", options.two_servers, "DIR",
            "prefill and decode have a keeper each, and couriers between them, whose certificates "
            "are there (aqua-courier-certificates DIR prefill.test decode.test). With --replicate "
            "and one pipeline the second server has copies, and goes on when the first one is lost")
      .text("--prefill-network", options.prefill_network, "NAME",
            "namespace of the network (ip netns) that prefill's courier is in ...")
      .text("--decode-network", options.decode_network, "NAME", "... and decode's ...")
      .text("--decode-address", options.decode_address, "HOST", "... where it listens")
      .number(
          "--hosts", options.hosts, 0, kMostHosts, "N",
          "three or more hosts, namespaces of this machine that root may make, wired by a bridge: "
          "each has a member of an etcd, a coordinator, a keeper and a courier. Stages take "
          "turns; decode's begin on the host behind prefill's. With --replicate each keeper has "
          "copies of what the one of the host before it keeps ...")
      .text("--certificates", options.certificates, "DIR",
            "... their couriers' are there (aqua-courier-certificates DIR h0.test h1.test h2.test)")
      .choice("--carrier", options.over_ucx, {{"tls", false}, {"ucx", true}}, "CARRIER",
              "what moves bytes between hosts")
      .number("--server-ttl-ms", options.server_ttl_ms, 2000, 600'000, "N",
              "a host that is silent for so long is lost, to the coordinators of the others")
      .text("--etcd-binary", options.etcd_program, "PROGRAM", "etcd's")
      .text("--courier-binary", options.courier, "PROGRAM",
            "the aqua-courier program; default: of the same build")
      .text("--coordinator-binary", options.coordinator_program, "PROGRAM",
            "the aqua-coordinator program; default: of the same build")
      .text("--keeper-binary", options.keeper, "PROGRAM",
            "the aqua-keeper program; default: of the same build")
      .number("--layer-us", options.layer_us, 0, 1'000'000, "N",
              "a layer's kernel lasts at least so many microseconds, a sixteenth of that more for "
              "each token, a 256th for each that one attends to: devices that are no faster for "
              "sharing this machine's cores with few others")
      .text("--record", options.record, "FILE",
            "write how long each step of each stage took, for aqua simulate --calibrate; of one "
            "pipeline of one rank a stage, whose --batch is its stages")
      .flag("--json", options.json, "print the result as JSON");
  add_stage_options(line, options);
  return line;
}

void check_options(const Options& options) {
  const auto check = [&](const char* name, const PipelineShape& shape) {
    if (const auto why = refusal(options.model_shape(), shape))
      throw example::Failure(concat(name, " ", to_string(shape), ": ", *why));
  };
  check("--colocated", options.colocated);
  if (options.prefill) check("--prefill", *options.prefill);
  if (options.decode) check("--decode", *options.decode);
  if (options.prefill.has_value() != options.decode.has_value())
    throw example::Failure("--prefill and --decode go together");
  const PipelineShape& one = options.colocated;
  if (!options.record.empty() &&
      (options.prefill || options.compare || one.ranks != 1 || options.batch != one.stages))
    throw example::Failure("--record wants --colocated Sx1 and --batch S, and no --compare");
  const bool streams = options.prefill && !options.replicate && !options.compare;
  const bool mirrors = !options.prefill && options.replicate && !options.standby;
  if (!options.two_servers.empty() && !streams && !mirrors)
    throw example::Failure(
        "--two-servers wants --prefill and --decode, and nothing of replicas; or "
        "one pipeline with --replicate, and no --standby");
  check_hosts(options);
  constexpr unsigned kLeastTtl = 100;  // a busy machine lets a thread wait for so long
  if (options.ttl_ms > 0 && options.ttl_ms < kLeastTtl)
    throw example::Failure(concat("--ttl-ms ", options.ttl_ms, ": 0, or ", kLeastTtl, " and more"));
  if (!options.stop.empty() && options.ttl_ms == 0)
    throw example::Failure("--stop wants --ttl-ms: nobody would go on");
  if (options.compare && options.kill.empty() && options.stop.empty() && options.cut.empty())
    throw example::Failure("--compare wants a --kill, --stop or --cut");
  (void)kills(options);
}

const PipelineShape* shape_of(const Options& options, const std::string& pipeline) {
  if (!options.prefill) return pipeline == kColocated ? &options.colocated : nullptr;
  if (pipeline == kPrefill) return &*options.prefill;
  return pipeline == kDecode ? &*options.decode : nullptr;
}

std::vector<Kill> kills(const Options& options) {
  std::vector<Kill> all;
  for (const auto& [name, texts] :
       {std::pair("--kill ", &options.kill), std::pair("--stop ", &options.stop),
        std::pair("--cut ", &options.cut)}) {
    for (const std::string& text : *texts) {
      auto kill = parse_kill(text);
      if (!kill.ok()) throw example::Failure(concat(name, text, ": ", kill.error().message));
      kill->stops = texts == &options.stop;
      kill->cuts = texts == &options.cut;
      if (const auto why = refusal(*kill, options, all))
        throw example::Failure(concat(name, text, ": ", *why));
      all.push_back(std::move(*kill));
    }
  }
  return all;
}

std::vector<AtStep> at_steps(const Options& options) {
  std::vector<AtStep> all;
  for (const Kill& kill : kills(options)) {
    const bool here = kill.pipeline == options.place.pipeline &&
                      kill.stage == options.place.stage && kill.rank == options.place.rank;
    if (kill.step.empty() || (!here && !is_daemon(kill))) continue;
    AtStep at{.step = kill.step, .stops = kill.stops};
    if (is_daemon(kill)) {
      at.daemon = kill.pipeline;
      at.socket = kill.pipeline == kKeeper
                      ? example::keeper_socket(options.directory)
                      : options.coordinator.substr(options.coordinator.find(':') + 1);
    }
    all.push_back(std::move(at));
  }
  return all;
}

}  // namespace aqua::pipeline
