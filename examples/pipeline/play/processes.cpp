// SPDX-License-Identifier: Apache-2.0
#include "play/processes.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "must.hpp"
#include "serve/lease.hpp"

namespace aqua::pipeline {
namespace {

using example::ChildProcess;
using example::Failure;

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{120};  // for a start or an end, on a busy machine

std::vector<std::string> model_arguments(const Options& options) {
  std::vector<std::string> line{"--batch",         std::to_string(options.batch),
                                "--prompt-tokens", std::to_string(options.prompt_tokens),
                                "--answer-tokens", std::to_string(options.answer_tokens),
                                "--layers",        std::to_string(options.model.layers),
                                "--kv-heads",      std::to_string(options.model.kv_heads),
                                "--block-tokens",  std::to_string(options.cache.tokens_per_block)};
  if (options.layer_us > 0)
    line.insert(line.end(), {"--layer-us", std::to_string(options.layer_us)});
  if (options.cache.heads_first) line.emplace_back("--heads-first");
  if (options.replicate) line.emplace_back("--replicate");
  if (!options.record.empty()) line.emplace_back("--log-steps");
  if (options.ttl_ms > 0) line.insert(line.end(), {"--ttl-ms", std::to_string(options.ttl_ms)});
  if (options.prefill) {
    for (const auto& [name, shape] :
         {std::pair("--prefill", *options.prefill), std::pair("--decode", *options.decode)})
      line.insert(line.end(), {name, to_string(shape)});
  }
  return line;
}

// By somebody; who ends by an error or a crash of its own is not replaced.
bool was_killed(int status) {
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

}  // namespace

ChildProcess start_keeper(const Options& options, const std::filesystem::path& directory) {
  std::vector<std::string> line{std::filesystem::read_symlink("/proc/self/exe"),
                                "--keeper-role",
                                "--directory",
                                directory,
                                "--parent",
                                std::to_string(::getpid())};
  if (!options.keeper.empty()) line.insert(line.end(), {"--keeper-binary", options.keeper});
  ChildProcess keeper("keeper", line);
  example::await_line(keeper, "listening", kPatience);
  return keeper;
}

std::vector<std::string> Processes::command_line(const Place& place) const {
  std::vector<std::string> line{std::filesystem::read_symlink("/proc/self/exe"),
                                "--stage-role",
                                "--pipeline",
                                place.pipeline,
                                "--shape",
                                to_string(place.shape),
                                "--stage",
                                std::to_string(place.stage),
                                "--rank",
                                std::to_string(place.rank),
                                "--term",
                                std::to_string(term_),
                                "--directory",
                                directory_,
                                "--parent",
                                std::to_string(::getpid())};
  for (const std::string& argument : model_arguments(options_)) line.push_back(argument);
  return line;
}

ChildProcess Processes::start(const Place& place) const {
  std::vector<std::string> line = command_line(place);
  if (options_.flip && place.first() && place.rank == 0) line.emplace_back("--flip-a-byte");
  for (const Kill& kill : kills(options_)) {
    const bool here =
        kill.pipeline == name_ && kill.stage == place.stage && kill.rank == place.rank;
    if (here && !kill.step.empty())
      line.insert(line.end(), {kill.stops ? "--stop-at" : "--die-at", kill.step});
  }
  return {place.name(), line};
}

ChildProcess Processes::start_standby() const {
  std::vector<std::string> line = command_line({name_, shape_});
  line.emplace_back("--standby");
  return {name_ + ", standing by", line};
}

void Processes::replace(Member& member) {
  ++deaths_;
  Lease::forget(directory_, member.process->pid());
  member.process.reset();
  if (standby_ && !standby_->wait(std::chrono::milliseconds(0))) {
    member.process.emplace(std::move(*standby_));
    standby_.reset();
    tell(member, TakePlace{member.place.stage, member.place.rank, term_});
  } else {
    member.process.emplace(start(member.place));
  }
}

Processes::Processes(const std::string& name, const PipelineShape& shape, const Options& options,
                     const std::filesystem::path& directory)
    : name_(name),
      shape_(shape),
      options_(options),
      directory_(directory),
      lost_(shape.stages, false) {
  for (unsigned stage = 0; stage < shape.stages; ++stage) {
    for (unsigned rank = 0; rank < shape.ranks; ++rank) {
      const Place place{name, shape, stage, rank};
      members_.push_back({place, start(place)});
    }
  }
  std::vector<Sampled> none;
  if (!await_all({.term = term_, .connected = false}, none)) (void)replace_killed();
  while (!connect({}, 0)) (void)replace_killed();
}

ChildProcess& Processes::last() {
  return *members_[members_.size() - shape_.ranks].process;
}

void Processes::order(const Order& order) {
  for (unsigned rank = 0; rank < shape_.ranks; ++rank) tell(members_[rank], order);
}

void Processes::watch(std::vector<pollfd>& into) const {
  for (const Member& member : members_) into.push_back({member.process->pidfd(), POLLIN, 0});
  into.push_back({members_[members_.size() - shape_.ranks].process->output(), POLLIN, 0});
}

std::vector<Sampled> Processes::take() {
  std::vector<Sampled> all;
  for (const std::string& line : last().lines().read(std::chrono::milliseconds(0))) {
    const auto message = example::parse_line(line);
    if (message.contains("token")) all.push_back(message.get<Sampled>());
  }
  return all;
}

void Processes::tell(Member& member, const nlohmann::json& message) {
  (void)member.process->send(message, [this] { kill_silent(); });
}

void Processes::kill_silent() {
  const std::chrono::milliseconds ttl(options_.ttl_ms);
  for (Member& member : members_) {
    const pid_t pid = member.process->pid();
    if (ttl.count() == 0 || !Lease::ran_out(directory_, pid, ttl)) continue;
    if (member.process->wait(std::chrono::milliseconds(0))) continue;  // it renews no more
    member.process->signal(SIGKILL);
    silent_.insert(pid);
  }
}

bool Processes::broken() {
  kill_silent();
  bool killed = false;
  for (Member& member : members_) {
    const auto status = member.process->wait(std::chrono::milliseconds(0));
    if (status && !was_killed(*status)) example::throw_ended(*member.process);
    killed = killed || status;
  }
  return killed;
}

std::vector<Sampled> Processes::replace_killed() {
  std::vector<Sampled> said;
  do {
    ++term_;
    (void)broken();  // Failure, where one has ended by itself
    for (Member& member : members_) {
      if (!member.process->wait(std::chrono::milliseconds(0))) {
        tell(member, Rewire{term_});
        continue;
      }
      if (&*member.process == &last()) std::ranges::move(take(), std::back_inserter(said));
      lost_[member.place.stage] = true;
      replace(member);
    }
  } while (!await_all({.term = term_, .connected = false}, said));
  return said;
}

std::optional<std::vector<std::vector<Mark>>> Processes::survey(
    const std::vector<KnownSequence>& sequences) {
  for (Member& member : members_) tell(member, Survey{term_, sequences});
  const Mark all{.cached = UINT32_MAX, .replica = UINT32_MAX, .untouched = true};
  std::vector<std::vector<Mark>> stages(shape_.stages, std::vector<Mark>(sequences.size(), all));
  std::vector<Sampled> none;
  for (Member& member : members_) {
    const auto heard = hear(member, "surveyed", term_, none);
    if (!heard) return {};
    const auto surveyed = heard->get<Surveyed>();
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      Mark& least = stages[member.place.stage][i];
      const Mark& its = surveyed.marks.at(i);
      least.cached = std::min(least.cached, its.cached);
      least.replica = std::min(least.replica, std::max(its.replica, its.cached));
      least.untouched = least.untouched && its.untouched;
    }
  }
  return stages;
}

bool Processes::connect(const std::vector<Resume>& sequences, Word begun) {
  for (Member& member : members_) tell(member, Connect{term_, sequences, begun});
  std::vector<Sampled> none;
  if (!await_all({.term = term_, .connected = true}, none)) return false;
  lost_.assign(shape_.stages, false);
  if (options_.standby && !standby_) standby_.emplace(start_standby());
  return true;
}

bool Processes::await_all(const Wired& wanted, std::vector<Sampled>& said) {
  return std::ranges::all_of(members_, [&](Member& member) {
    for (;;) {
      const auto heard = hear(member, "connected", wanted.term, said);
      if (!heard) return false;
      if (heard->get<Wired>() == wanted) return true;
    }
  });
}

std::optional<nlohmann::json> Processes::hear(Member& member, const char* kind, unsigned term,
                                              std::vector<Sampled>& said) {
  const auto deadline = Clock::now() + kPatience;
  for (;;) {
    std::optional<nlohmann::json> found;
    for (const std::string& line : member.process->lines().read(std::chrono::milliseconds(0))) {
      const auto message = example::parse_line(line);
      const auto about = message.find(message.contains("term") ? "term" : "surveyed");
      if (message.contains("token")) {
        said.push_back(message.get<Sampled>());
      } else if (message.contains(kind) && about != message.end() && *about == term) {
        found = message;
      }
    }
    if (found) return found;
    if (broken()) return {};
    std::vector<pollfd> news{{member.process->output(), POLLIN, 0}};
    for (const Member& each : members_) news.push_back({each.process->pidfd(), POLLIN, 0});
    if (Clock::now() > deadline)
      throw Failure(member.process->name() + " does not listen or connect");
    (void)::poll(news.data(), news.size(), static_cast<int>(options_.one_wait().count()));
  }
}

void Processes::signal(unsigned stage, unsigned rank, int number) {
  members_[stage * shape_.ranks + rank].process->signal(number);
}

void Processes::lose_server(const std::filesystem::path& next) {
  for (Member& member : members_) member.process->signal(SIGKILL);
  directory_ = next;
}

bool Processes::finish() {
  bool in_peace = true;
  standby_.reset();
  for (Member& member : members_) member.process->close_input();
  for (Member& member : members_) {
    const auto deadline = Clock::now() + kPatience;
    auto status = member.process->wait(options_.one_wait());
    for (; !status && Clock::now() < deadline; kill_silent())
      status = member.process->wait(options_.one_wait());
    if (!status) throw Failure(member.process->name() + " does not end");
    if (*status != 0 && !was_killed(*status))
      throw Failure(member.process->name() + " " + example::describe_status(*status));
    in_peace = in_peace && *status == 0;
  }
  return in_peace;
}

}  // namespace aqua::pipeline
