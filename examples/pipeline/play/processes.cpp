// SPDX-License-Identifier: Apache-2.0
#include "play/processes.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "must.hpp"

namespace aqua::pipeline {
namespace {

using example::ChildProcess;
using example::Failure;

constexpr std::chrono::seconds kPatience{120};  // for a start or an end, on a busy machine

ChildProcess start(const Place& place, const Options& options,
                   const std::filesystem::path& directory) {
  std::vector<std::string> line{std::filesystem::read_symlink("/proc/self/exe"), "--stage-role"};
  const auto add = [&](const char* option, const std::string& value) {
    line.insert(line.end(), {option, value});
  };
  add("--pipeline", place.pipeline);
  add("--shape", to_string(place.shape));
  add("--stage", std::to_string(place.stage));
  add("--rank", std::to_string(place.rank));
  add("--directory", directory);
  add("--parent", std::to_string(::getpid()));
  add("--batch", std::to_string(options.batch));
  add("--prompt-tokens", std::to_string(options.prompt_tokens));
  add("--answer-tokens", std::to_string(options.answer_tokens));
  add("--layers", std::to_string(options.model.layers));
  add("--kv-heads", std::to_string(options.model.kv_heads));
  add("--block-tokens", std::to_string(options.cache.tokens_per_block));
  if (options.flip && place.first() && place.rank == 0) line.emplace_back("--flip-a-byte");
  if (options.cache.heads_first) line.emplace_back("--heads-first");
  return {place.name(), line};
}

bool ended_for_a_neighbour(int status) {
  return WIFEXITED(status) && WEXITSTATUS(status) == kNeighbourGoneStatus;
}

}  // namespace

Processes::Processes(const std::string& name, const PipelineShape& shape, const Options& options,
                     const std::filesystem::path& directory)
    : name_(name), shape_(shape) {
  for (unsigned stage = 0; stage < shape.stages; ++stage) {
    for (unsigned rank = 0; rank < shape.ranks; ++rank)
      processes_.push_back(start({name, shape, stage, rank}, options, directory));
  }
  for (ChildProcess& process : processes_) example::await_line(process, "ready", kPatience);
  for (ChildProcess& process : processes_) {
    if (!process.send({{"connect", true}})) example::throw_ended(process);
  }
}

void Processes::order(const Order& order) {
  for (unsigned rank = 0; rank < shape_.ranks; ++rank) {
    if (!processes_[rank].send(order)) throw_death();
  }
}

void Processes::watch(std::vector<pollfd>& into) const {
  for (const ChildProcess& process : processes_) into.push_back({process.pidfd(), POLLIN, 0});
  into.push_back({processes_[processes_.size() - shape_.ranks].output(), POLLIN, 0});
}

std::vector<Sampled> Processes::take() {
  std::vector<Sampled> all;
  ChildProcess& last = processes_[processes_.size() - shape_.ranks];
  for (const std::string& line : last.lines().read(std::chrono::milliseconds(0)))
    all.push_back(example::parse_line(line).get<Sampled>());
  for (ChildProcess& process : processes_) {
    if (process.wait(std::chrono::milliseconds(0))) throw_death();
  }
  return all;
}

void Processes::kill(unsigned stage, unsigned rank) {
  processes_[stage * shape_.ranks + rank].signal(SIGKILL);
}

// Where one has died its neighbours end, too, and may be seen to end first: the sockets of a
// process close before its pidfd tells. So who ended for its neighbour's sake is not the one to
// name.
void Processes::throw_death() {
  std::vector<pollfd> ends;
  for (const ChildProcess& process : processes_) ends.push_back({process.pidfd(), POLLIN, 0});
  for (;;) {
    bool all_ended = true;
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      const auto status = processes_[i].wait(std::chrono::milliseconds(0));
      if (status && !ended_for_a_neighbour(*status)) example::throw_ended(processes_[i]);
      all_ended = all_ended && status;
      if (status) ends[i].fd = -1;  // poll() leaves it out
    }
    const auto patience = std::chrono::milliseconds(kPatience).count();
    if (all_ended || ::poll(ends.data(), ends.size(), static_cast<int>(patience)) <= 0)
      throw Failure(name_ + ": a process has ended, and none says why");
  }
}

void Processes::finish() {
  for (ChildProcess& process : processes_) process.close_input();
  for (ChildProcess& process : processes_) {
    const auto status = process.wait(kPatience);
    if (!status) throw Failure(process.name() + " does not end");
    if (*status != 0) throw Failure(process.name() + " " + example::describe_status(*status));
  }
}

}  // namespace aqua::pipeline
