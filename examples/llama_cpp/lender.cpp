#include "lender.hpp"

#include <unistd.h>

#include "aqua/runtime.hpp"
#include "coordinator_program.hpp"
#include "json_lines.hpp"
#include "must.hpp"

namespace aqua::llama_example {

using example::must;
using example::write_line;
using namespace aqua::literals;

namespace {

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

}  // namespace

int run_lender(const Options& options) {
  RuntimeOptions wanted;
  wanted.device = "emu:0";
  wanted.coordinator = example::coordinator_address(options.directory);
  wanted.name = "lender";
  wanted.host_bytes = 2_MiB;  // it has no tensors
  wanted.slab_bytes = kSlabBytes;
  wanted.socket_directory = options.directory;
  wanted.emulated.total_bytes = options.lend_bytes + kSlabBytes;
  const auto runtime = must(Runtime::open(wanted), "lender");
  must(runtime->lend(options.lend_bytes), "lend");
  (void)write_line(STDOUT_FILENO, {{"say", "lent"}});

  example::LineReader commands(STDIN_FILENO);
  while (!commands.ended()) {
    for (const std::string& line : commands.read(std::chrono::seconds(3600))) {
      const std::string what = example::parse_line(line).at("do");
      if (what == "finish") return 0;
      if (what == "reclaim") {
        (void)write_line(STDOUT_FILENO, take_back(*runtime, options.lend_bytes));
      } else {
        must(runtime->lend(options.lend_bytes), "lend");
        (void)write_line(STDOUT_FILENO, {{"say", "lent"}});
      }
    }
  }
  return 0;
}

}  // namespace aqua::llama_example
