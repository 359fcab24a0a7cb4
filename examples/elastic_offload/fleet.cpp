// SPDX-License-Identifier: Apache-2.0
#include "fleet.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "roles.hpp"

namespace aqua::example {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::chrono::seconds kPatience{60};  // for a start or an end, on a busy machine

std::vector<std::string> command_line(const Options& options, const char* role, unsigned index,
                                      const std::filesystem::path& directory) {
  std::vector<std::string> line{std::filesystem::read_symlink("/proc/self/exe"),
                                "--role",
                                role,
                                "--index",
                                std::to_string(index),
                                "--directory",
                                directory,
                                "--parent",
                                std::to_string(::getpid()),
                                "--iteration-ms",
                                std::to_string(options.iteration.count()),
                                "--host-link-mb-per-s",
                                std::to_string(options.host_link_mb_per_s),
                                "--policy",
                                options.policy,
                                "--coordinator-binary",
                                options.coordinator};
  if (options.fallback) line.emplace_back("--fallback");
  if (options.expansion.on()) {
    line.insert(line.end(), {"--expand", to_string(options.expansion), "--seed",
                             std::to_string(options.workload.seed)});
  }
  if (options.hostile_device()) line.emplace_back("--hostile");
  return line;
}

}  // namespace

Fleet::Fleet(const Options& options, const std::filesystem::path& directory,
             const StopSignals& stop)
    : stop_(stop) {
  start_coordinator(options, directory);
  for (unsigned i = 0; i < kProducers; ++i) {
    producers_.push_back(
        {{"producer " + std::to_string(i), command_line(options, "producer", i, directory)}});
  }
  for (unsigned i = 0; i < kConsumers; ++i) {
    consumers_.push_back(
        {{"consumer " + std::to_string(i), command_line(options, "consumer", i, directory)}});
  }
  listen_until(
      [this] {
        const auto ready = [](const auto& engine) { return engine.ready; };
        return std::ranges::all_of(consumers_, ready) && std::ranges::all_of(producers_, ready);
      },
      "the engines to be ready");
}

void Fleet::start_coordinator(const Options& options, const std::filesystem::path& directory) {
  coordinator_.emplace("coordinator", command_line(options, "coordinator", 0, directory));
  await_line(*coordinator_, "listening on", kPatience);
}

void Fleet::listen(milliseconds patience) {
  std::vector<pollfd> sources{{stop_.fd(), POLLIN, 0}, {coordinator_->output(), POLLIN, 0}};
  for (const auto& engine : consumers_) sources.push_back({engine.process.output(), POLLIN, 0});
  for (const auto& engine : producers_) {
    if (!engine.killed) sources.push_back({engine.process.output(), POLLIN, 0});
  }
  // The end of a source that is known to have ended would wake us at once, again and again.
  if (finishing_) patience = std::min(patience, milliseconds(10));
  (void)::poll(sources.data(), sources.size(), static_cast<int>(patience.count()));
  stop_.check();
  (void)coordinator_->lines().read(milliseconds(0));
  if (coordinator_->lines().ended()) throw_ended(*coordinator_);
  for (auto& engine : consumers_) take_in(engine);
  for (auto& engine : producers_) take_in(engine);
}

template <typename Stats>
void Fleet::take_in(Engine<Stats>& engine) {
  if (engine.killed) return;
  for (const std::string& line : engine.process.lines().read(milliseconds(0))) {
    const auto message = parse_line(line);
    const std::string what = message.at("say");
    if (what == "ready") engine.ready = true;
    if (what == "final") engine.final_stats = true;
    if (what != "ready") engine.stats = message.at("stats").template get<Stats>();
  }
  if (engine.process.lines().ended() && !engine.final_stats) throw_ended(engine.process);
}

template <typename Enough>
void Fleet::listen_until(Enough enough, const std::string& what) {
  const auto deadline = Clock::now() + kPatience;
  while (!enough()) {
    if (Clock::now() > deadline) throw Failure("waited too long for " + what);
    listen(milliseconds(100));
  }
}

template <typename Stats>
void Fleet::finish(std::vector<Engine<Stats>>& engines) {
  for (auto& engine : engines) {
    if (!engine.killed) (void)engine.process.send({{"do", "finish"}});
  }
  for (auto& engine : engines) {
    listen_until([&] { return engine.final_stats || engine.killed; },
                 "the last word of " + engine.process.name());
  }
  for (auto& engine : engines) {
    if (!engine.killed && engine.process.wait(kPatience) != 0) throw_ended(engine.process);
  }
}

void Fleet::kill(std::size_t producer) {
  Engine<ProducerStats>& engine = producers_[producer];
  engine.killed = true;
  engine.stats.own_bytes = engine.stats.lent_bytes = engine.stats.held_bytes = 0;
  engine.process.signal(SIGKILL);
  if (!engine.process.wait(kPatience)) throw Failure(engine.process.name() + " survives SIGKILL");
}

void Fleet::finish() {
  finishing_ = true;
  finish(consumers_);  // first: what they hold is the producers'
  finish(producers_);
  coordinator_->signal(SIGTERM);
  if (coordinator_->wait(kPatience) != 0) throw_ended(*coordinator_);
}

std::uint64_t Fleet::memory_bytes() const {
  std::uint64_t bytes = proportional_bytes(::getpid()) + proportional_bytes(coordinator_->pid());
  for (const auto& engine : consumers_) bytes += proportional_bytes(engine.process.pid());
  for (const auto& engine : producers_) {
    if (!engine.killed) bytes += proportional_bytes(engine.process.pid());
  }
  return bytes;
}

}  // namespace aqua::example
