// SPDX-License-Identifier: Apache-2.0
#include "neighbour_role.hpp"

#include <unistd.h>

#include "aqua/runtime.hpp"
#include "child_process.hpp"
#include "daemon_program.hpp"
#include "json_lines.hpp"
#include "neighbours.hpp"

namespace aqua::example {
namespace {

using namespace aqua::literals;

nlohmann::json take_back(Runtime& runtime, std::size_t bytes) {
  const auto reclaim = must(runtime.reclaim(bytes, std::chrono::seconds(10)), "reclaim");
  const ReclaimProgress end = must(reclaim.wait(), "reclaim");
  const auto ms = [](std::chrono::microseconds us) {
    return static_cast<double>(us.count()) / 1e3;
  };
  return {{"say", "reclaimed"},
          {"bytes", end.bytes_returned},
          {"slabs", end.slabs_returned},
          {"first_ms", ms(end.first_slab)},
          {"last_ms", ms(end.last_slab)}};
}

Runtime open_lender(const NeighbourRole& role) {
  RuntimeOptions wanted;
  wanted.device = "emu:0";
  wanted.coordinator = coordinator_address(role.directory);
  wanted.name = "lender";
  wanted.host_bytes = 2_MiB;  // it has no tensors
  wanted.slab_bytes = kNeighbourSlabBytes;
  wanted.socket_directory = role.directory;
  wanted.emulated.total_bytes = role.lend_bytes + kNeighbourSlabBytes;
  return must(Runtime::open(wanted), "lender");
}

// Lends, and does as it is told on stdin: {"do": "reclaim" | "lend" | "finish"}.
int run_lender(const NeighbourRole& role) {
  auto runtime = open_lender(role);
  must(runtime.lend(role.lend_bytes), "lend");
  (void)write_line(STDOUT_FILENO, {{"say", "lent"}});

  LineReader commands(STDIN_FILENO);
  while (!commands.ended()) {
    for (const std::string& line : commands.read(std::chrono::seconds(3600))) {
      const std::string what = parse_line(line).at("do");
      if (what == "finish") return 0;
      if (what == "reclaim") {
        (void)write_line(STDOUT_FILENO, take_back(runtime, role.lend_bytes));
      } else {
        must(runtime.lend(role.lend_bytes), "lend");
        (void)write_line(STDOUT_FILENO, {{"say", "lent"}});
      }
    }
  }
  return 0;
}

}  // namespace

void add_role_options(CommandLine& line, NeighbourRole& role) {
  using Kind = NeighbourRole::Kind;
  line.text("--coordinator-binary", role.coordinator, "PROGRAM",
            "the aqua-coordinator program; default: of the same build");
  line.group("")  // not in the help
      .choice("--role", role.kind, {{"coordinator", Kind::coordinator}, {"lender", Kind::lender}},
              "ROLE", "")
      .text("--directory", role.directory, "DIR", "")
      .number("--lend-bytes", role.lend_bytes, 1, SIZE_MAX, "N", "")
      .number("--parent", role.parent, 1, INT32_MAX, "PID", "");
}

int run_neighbour(const NeighbourRole& role) {
  die_with_parent(role.parent);
  if (role.kind == NeighbourRole::Kind::lender) return run_lender(role);
  become_coordinator(role.coordinator, role.directory);
}

}  // namespace aqua::example
