#include "tools/profile_command.hpp"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <thread>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "profiler/make_profile.hpp"
#include "profiler/picture.hpp"
#include "tools/profile_setup.hpp"
#include "tools/progress_bar.hpp"

namespace aqua::tool {
namespace {

using profiler::Record;

// Whole, or as it was before.
Result<void> write_file(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".new";
  std::ofstream out(fresh, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out || std::rename(fresh.c_str(), path.c_str()) != 0)
    return Error{Code::permission_denied, concat("profile: cannot write ", path)};
  return {};
}

profiler::Hooks hooks_of(const ProfileOptions& options, ProgressBar& bar) {
  using Clock = std::chrono::steady_clock;
  profiler::Hooks hooks;
  hooks.save = [&options](const Record& record) -> Result<void> {
    if (!options.html.empty())
      AQUA_TRY(write_file(options.html, profiler::render_page(record, options.sla)));
    return write_file(options.json, profiler::render_record(record));
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
                     const profiler::Hooks& hooks, const std::stop_token& stop) {
  AQUA_ASSIGN(const sim::Trace trace, sim::read_trace_file(options.trace));
  AQUA_ASSIGN(const auto memory, profiler::read_memory(engine, probing.memory));
  size_swap(record, options, trace, memory.total_bytes);
  profiler::Prober prober(engine, &trace, probing, stop);
  AQUA_TRY(prober.greet());
  profiler::warn(
      record.evidence, "usage",
      prober.tells_usage() ? "" : "the engine tells no usage: tokens are counted by events");
  profiler::LlmOptions wanted{
      .range = options.range, .seed = options.seed, .bursts = options.bursts};
  const bool blind = probing.memory.bytes_per_token <= 0 && !wanted.bursts.empty();
  if (blind) wanted.bursts.clear();
  profiler::warn(record.evidence, "bursts",
                 blind ? "swap space for bursts was not looked at: give --bytes-per-token" : "");
  return profiler::profile_llm(record, prober, wanted, hooks);
}

// Turns SIGINT and SIGTERM into a stop, on a thread of its own, while it lives.
class StopOnSignal {
 public:
  StopOnSignal() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
    thread_ = std::thread([this] {
      int signal = 0;
      sigwait(&signals_, &signal);
      if (!over_) stop_.request_stop();
    });
  }
  ~StopOnSignal() {
    over_ = true;
    pthread_kill(thread_.native_handle(), SIGINT);  // of no effect where it has ended
    thread_.join();
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }

 private:
  sigset_t signals_{}, before_{};
  std::stop_source stop_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace

Result<std::string> run_profile(const ProfileOptions& given, const std::stop_token& stop) {
  ProfileOptions options = given;
  AQUA_ASSIGN(const profiler::EngineLink engine, link_of(options));
  AQUA_ASSIGN(const profiler::ProberOptions probing, prober_of(options, engine));
  AQUA_ASSIGN(Record record, record_of(options, engine, probing));
  record.profile.threshold_bytes = static_cast<std::size_t>(options.threshold_gb * 1e9);
  Result<void> done{};
  {
    ProgressBar bar(options.progress);
    const profiler::Hooks hooks = hooks_of(options, bar);
    if (options.kind == ProfileKind::llm) {
      done = run_llm(record, engine, probing, options, hooks, stop);
    } else {
      profiler::Prober prober(engine, nullptr, probing, stop);
      done = profiler::profile_batches(record, prober, options.most_batch, hooks);
    }
  }
  if (done.ok()) return summary(record, options);
  if (record.evidence.reason.empty() || !record.evidence.measured()) return std::move(done).error();  // nothing was begun
  return Error{done.error().code,
               concat("profile: ", done.error().message, "\n", summary(record, options),
                      "  not complete; --resume goes on with it")};
}

Result<std::string> run_profile(const ProfileOptions& options) {
  const StopOnSignal signals;
  return run_profile(options, signals.token());
}

}  // namespace aqua::tool
