// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/profile/profile_command.hpp"

#include <chrono>
#include <cstdio>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/cli/profile/profile_setup.hpp"
#include "tools/cli/stop_on_signal.hpp"
#include "tools/cli/write_file.hpp"
#include "tools/daemon/descriptor_limit.hpp"
#include "tools/profiler/search/make_profile.hpp"
#include "tools/profiler/search/picture.hpp"
#include "tools/report/progress_line.hpp"

namespace aqua::tool {
namespace {

using profiler::Record;
using Where = report::ProgressLine::Where;

// `page_fault`: why there is no page of what was kept; empty: there is.
profiler::Hooks hooks_of(const ProfileOptions& options, report::ProgressLine& bar,
                         std::string& page_fault) {
  using Clock = std::chrono::steady_clock;
  profiler::Hooks hooks;
  hooks.save = [&](const Record& record) -> Result<void> {
    AQUA_TRY(write_file(options.out, profiler::render_record(record)));
    if (options.html.empty()) return {};
    const auto drawn = write_file(options.html, profiler::render_page(record, options.sla));
    page_fault = drawn.ok() ? "" : drawn.error().message;
    return {};
  };
  hooks.progress = [&bar, start = Clock::now(), first = std::size_t{0}, began = false](
                       const std::string& what, std::size_t done, std::size_t of) mutable {
    if (!began) first = done;
    began = true;
    std::string left;
    if (done > first) {
      const std::chrono::duration<double> gone = Clock::now() - start;
      const double each = gone.count() / static_cast<double>(done - first);
      const auto minutes = static_cast<int>(each * static_cast<double>(of - done) / 60) + 1;
      left = concat(", ", minutes, " min left at most");
    }
    bar.show(concat(what, left), done, of);
  };
  return hooks;
}

Result<void> run_llm(Record& record, const profiler::EngineLink& engine,
                     const profiler::ProberOptions& probing, const ProfileOptions& options,
                     const profiler::Hooks& hooks) {
  AQUA_ASSIGN(const sim::Trace trace, sim::read_trace_file(options.trace));
  AQUA_ASSIGN(const auto memory, profiler::read_memory(engine, probing.memory));
  size_swap(record, options, trace, memory.total_bytes);
  profiler::Prober prober(engine, &trace, probing);
  AQUA_TRY(prober.greet());
  profiler::warn(
      record.evidence, "usage",
      prober.tells_usage() ? "" : "the engine tells no usage: tokens are counted by events");
  profiler::LlmOptions wanted{
      .range = options.range, .sla = options.sla, .seed = options.seed, .bursts = options.bursts};
  const bool blind = probing.memory.bytes_per_token <= 0 && !wanted.bursts.empty();
  if (blind) wanted.bursts.clear();
  profiler::warn(record.evidence, "bursts",
                 blind ? "swap space for bursts was not looked at: give --bytes-per-token" : "");
  return profiler::profile_llm(record, prober, wanted, hooks);
}

}  // namespace

Result<std::string> run_profile(const ProfileOptions& given, const std::stop_token& stop) {
  ProfileOptions options = given;
  AQUA_TRY(check_writable(options.out));
  if (!options.html.empty()) AQUA_TRY(check_writable(options.html));
  AQUA_ASSIGN(const profiler::EngineLink engine, link_of(options, stop));
  AQUA_ASSIGN(const profiler::ProberOptions probing, prober_of(options, engine));
  AQUA_ASSIGN(Record record, record_of(options, engine, probing));
  record.profile.threshold_bytes = static_cast<std::size_t>(options.threshold_gb * 1e9);
  Result<void> done{};
  std::string page_fault;
  {
    report::ProgressLine bar(stderr, options.progress ? Where::terminals : Where::nowhere);
    const profiler::Hooks hooks = hooks_of(options, bar, page_fault);
    if (options.kind == ProfileKind::llm) {
      done = run_llm(record, engine, probing, options, hooks);
    } else {
      profiler::Prober prober(engine, nullptr, probing);
      done = profiler::profile_batches(record, prober, options.most_batch, hooks);
    }
  }
  std::string text = summary(record, options);
  if (!page_fault.empty()) text += concat("  note: no page: ", page_fault, "\n");
  if (done.ok() && options.json) {
    if (!page_fault.empty()) std::fprintf(stderr, "profile: no page: %s\n", page_fault.c_str());
    return profiler::render_record(record);
  }
  if (done.ok()) return text;
  if (record.evidence.reason.empty() || !record.evidence.measured())
    return std::move(done).error();  // nothing was begun, or kept
  return Error{done.error().code, concat("profile: ", done.error().message, "\n", text,
                                         "  not complete; --resume goes on with it")};
}

Result<std::string> run_profile(const ProfileOptions& options) {
  (void)daemon::raise_descriptor_limit();  // what a limit that stays costs is said when it is met
  const StopOnSignal signals;
  return run_profile(options, signals.token());
}

}  // namespace aqua::tool
