// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

namespace aqua::example {
namespace {

constexpr const char* kAbout = R"(Usage: elastic_offload [options]

Four emulated GPUs, an engine each, and a coordinator: six processes on this
machine. Two engines have memory to spare and lend it; two have caches too
small for their load, and keep the KV blocks of preempted sequences in the lent
memory, or in host memory. Every byte that moves is checked.

First the same requests are served twice, with host memory alone and with lent
memory above it: what users gain. Host memory is paced (--host-link-mb-per-s),
so that it is to lent memory roughly what PCIe is to NVLink. Then one lender
wants its memory back, gets it, and later lends it again.

With --expand the borrowers keep the layers of their KV in fewer frames of
memory than there are layers, and have more blocks in it.

Takes a minute or two and about 4 GiB of memory. The exit status is 0 only if
no byte was wrong, and memory was reclaimed and could be borrowed again.)";

Result<void> set_policy(std::string& policy, std::string_view text) {
  std::string known;
  for (const std::string& name : schedule::scheduler_names()) {
    if (name == text) {
      policy = name;
      return {};
    }
    known += (known.empty() ? "" : ", ") + name;
  }
  return Error{Code::invalid_argument, "expected one of " + known};
}

Result<void> set_expansion(Expansion& expansion, std::string_view text) {
  expansion = {.automatic = text == "auto"};
  if (expansion.automatic || text == "off") return {};
  const auto factor =
      parse_between(text, 1.0, static_cast<double>(CacheShape::kLayers) / Expansion::kLeastFrames);
  if (!factor.ok())
    return Error{Code::invalid_argument,
                 "expected off, auto, or layers over frames, a number from 1 to 5.33"};
  expansion.factor = *factor;
  return {};
}

void add_workload(CommandLine& line, WorkloadOptions& workload) {
  line.group("Requests")
      .text("--trace", workload.trace, "FILE",
            "requests in the format of the Azure LLM inference traces; default: made up in their "
            "shape")
      .number("--requests", workload.requests, 1, 100'000, "N",
              "how many of them, from the first on")
      .number("--seed", workload.seed, 0, UINT64_MAX, "N", "of the made-up trace")
      .option(
          "--arrivals-in", "SECONDS", "make them arrive in this time if they took longer",
          [&workload](std::string_view text) -> Result<void> {
            const auto seconds = parse_between(text, 1, 86'400);
            if (!seconds.ok()) return seconds.error();
            workload.arrivals_in = std::chrono::seconds(*seconds);
            return {};
          },
          std::to_string(workload.arrivals_in.count() / 1000))
      .number("--output-scale", workload.output_scale, 0.001, 100, "X",
              "multiply the number of output tokens");
}

void add_play(CommandLine& line, Options& o) {
  line.group("The play")
      .option(
          "--policy", "NAME",
          "who is computed, preempted and brought back: auto, cfs, las, fcfs or vtc. fcfs and vtc "
          "preempt for memory only, and gain less from lent memory",
          [&o](std::string_view text) { return set_policy(o.policy, text); }, o.policy)
      .flag("--fallback", o.fallback,
            "cfs and las serve first come, first served while preempted KV is in host memory, as "
            "the paper does")
      .number("--compare", o.compare, 0, 100'000, "N",
              "requests to serve with and without lent memory; 0: none")
      .number("--host-link-mb-per-s", o.host_link_mb_per_s, 0, 1'000'000, "MB",
              "pace of copies to and from host memory; 0: as fast as this machine copies")
      .number("--iteration-ms", o.iteration, 0, 1000, "MS", "least time of a decoding step")
      .number("--reclaim-after", o.reclaim_after, 0, 1, "FRACTION",
              "of the requests that are done before memory is reclaimed ...")
      .number("--reclaim-at-mib", o.reclaim_at_mib, 1, 1024, "MIB",
              "... and how much of it must be in use, over both consumers; waited for no longer "
              "than 30 s; default: 512, and 1 with fcfs and vtc")
      .number("--timeout", o.timeout, 1, 86'400, "SECONDS", "give up")
      .text("--coordinator-binary", o.coordinator, "PROGRAM",
            "the aqua-coordinator program; default: of the same build");
}

void add_expansion(CommandLine& line, Options& o) {
  line.group("Layers in fewer frames")
      .option(
          "--expand", "off|auto|X",
          "the borrowers' KV: off, flat; a number, so many layers for each frame of their memory, "
          "the others come in before their turn; auto, the frames change as it pays, and in a "
          "trial: with --resizes 200 --hostile --kill-lender. Nothing is compared then",
          [&o](std::string_view text) { return set_expansion(o.expansion, text); }, "off")
      .number("--resizes", o.resizes, 0, 100'000, "N",
              "change the frames at random, over both borrowers at least so many times")
      .flag("--hostile", o.hostile,
            "the borrowers' GPUs delay at random and are closed to the host")
      .flag("--kill-lender", o.kill_lender, "kill a lender with SIGKILL after the reclaim");
}

void add_reports(CommandLine& line, Options& o) {
  line.group("What it leaves")
      .number("--dashboard", o.dashboard, 1, 65'535, "PORT",
              "show the coordinator's dashboard at http://127.0.0.1:PORT/ while it runs, to look "
              "at only")
      .text("--html", o.html, "FILE", "write a page with pictures")
      .text("--json", o.json, "FILE", "write the result");
}

}  // namespace

CommandLine options_line(Options& options) {
  using Role = Options::Role;
  CommandLine line("", kAbout);
  add_workload(line, options.workload);
  add_play(line, options);
  add_expansion(line, options);
  add_reports(line, options);
  line.group("")  // not in the help
      .choice("--role", options.role,
              {{"coordinator", Role::coordinator},
               {"producer", Role::producer},
               {"consumer", Role::consumer}},
              "ROLE", "")
      .number("--index", options.index, 0, 100, "N", "")
      .text("--directory", options.directory, "DIR", "")
      .number("--parent", options.parent, 1, INT32_MAX, "PID", "");
  return line;
}

}  // namespace aqua::example
