// SPDX-License-Identifier: Apache-2.0
#include "play/fleet.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>

#include "must.hpp"

namespace aqua::prefill_decode {
namespace {

using example::ChildProcess;
using example::Failure;
using Kind = Options::Kind;

constexpr std::chrono::seconds kPatience{120};  // for a start or an end, on a busy machine

constexpr double kSilenceSeconds = 600;

template <class T>
std::string name_of(T value, const std::vector<std::pair<std::string, T>>& names) {
  return std::ranges::find(names, value, &std::pair<std::string, T>::second)->first;
}

ChildProcess started(Kind kind, const Options& options, const std::filesystem::path& model,
                     const std::filesystem::path& directory, const char* word) {
  ChildProcess process = start(kind, options, model, directory);
  example::await_line(process, word, kPatience);
  return process;
}

void await_end(ChildProcess& process) {
  const auto status = process.wait(kPatience);
  if (!status) throw Failure(process.name() + " does not end");
  if (*status != 0) throw Failure(process.name() + " " + example::describe_status(*status));
}

}  // namespace

ChildProcess start(Kind kind, const Options& options, const std::filesystem::path& model,
                   const std::filesystem::path& directory) {
  std::vector<std::string> line{std::filesystem::read_symlink("/proc/self/exe")};
  const auto add = [&](const char* option, const std::string& value) {
    line.insert(line.end(), {option, value});
  };
  add("--role", name_of(kind, role_names()));
  add("--parent", std::to_string(::getpid()));
  add("--directory", directory);
  add("--model", model);
  add("--engine", options.engine == EngineKind::paged ? "paged" : "llama.cpp");
  add("--blocks", std::to_string(options.blocks));
  add("--chunk", std::to_string(options.chunk));
  add("--threads", std::to_string(options.threads));
  add("--prompt-tokens", std::to_string(options.prompt_tokens));
  add("--answer-tokens", std::to_string(options.answer_tokens));
  add("--long-prompts", std::to_string(options.long_prompts));
  add("--long-tokens", std::to_string(options.long_tokens));
  add("--long-answer-tokens", std::to_string(options.long_answer_tokens));
  add("--weights", name_of(options.weights, weights_names()));
  if (!options.keeper.empty()) add("--keeper-binary", options.keeper);
  return {name_of(kind, role_names()), line};
}

double tokens_per_second(const Outcomes& outcomes) {
  double begin = 0, end = 0;
  std::size_t tokens = 0;
  for (const auto& [id, outcome] : outcomes) {
    begin = begin == 0 ? outcome.sent : std::min(begin, outcome.sent);
    const Answer& answer = *outcome.answer;
    end = std::max(end, answer.at.empty() ? outcome.first : answer.at.back());
    tokens += outcome.request.prompt.size() + answer.tokens.size();
  }
  return static_cast<double>(tokens) / (end - begin);
}

Keeper::Keeper(const Options& options, const std::filesystem::path& model)
    : daemon_(started(Kind::keeper, options, model, directory_.path(), "listening")) {
  if (options.weights != WeightsIn::keeper) return;
  ChildProcess loader = start(Kind::loader, options, model, directory_.path());
  await_end(loader);
}

Fleet::Fleet(bool two, const Options& options, const std::filesystem::path& model,
             const std::filesystem::path& directory, const example::StopSignals& stop)
    : options_(options), model_(model), directory_(directory), stop_(stop) {
  front_.emplace(started(two ? Kind::prefill : Kind::both, options_, model_, directory_, "ready"));
  if (two) decode_.emplace(started(Kind::decode, options_, model_, directory_, "ready"));
}

void Fleet::replace_decode() {
  decode_->signal(SIGKILL);
  (void)decode_->wait(kPatience);
  take_in(*decode_);  // its last words, of answers that nobody will give again
  decode_.reset();
  decode_.emplace(started(Kind::decode, options_, model_, directory_, "ready"));
}

std::vector<pid_t> Fleet::pids() const {
  std::vector<pid_t> pids{front_->pid()};
  if (decode_) pids.push_back(decode_->pid());
  return pids;
}

void Fleet::take_in(ChildProcess& process) {
  for (const std::string& line : process.lines().read(std::chrono::milliseconds(0))) {
    last_news_ = steady_seconds();
    const auto message = example::parse_line(line);
    if (message.contains("first_of")) {
      const auto first = message.get<FirstToken>();
      outcomes_.at(first.first_of).first = first.at;
    } else if (message.contains("answer_to")) {
      auto answer = message.get<Answer>();
      Outcome& outcome = outcomes_.at(answer.answer_to);
      // Killed behind its answer and before the keeper has heard that it is finished, decode leaves
      // the parcel to its successor.
      if (outcome.answer && outcome.answer->logits_hash != answer.logits_hash) {
        throw Failure("request " + std::to_string(answer.answer_to) + " has two answers");
      }
      if (!outcome.answer) ++answered_;
      outcome.answer = std::move(answer);
    }
  }
}

void Fleet::listen(double patience) {
  std::vector<pollfd> sources{{stop_.fd(), POLLIN, 0}, {front_->output(), POLLIN, 0}};
  if (decode_) sources.push_back({decode_->output(), POLLIN, 0});
  (void)::poll(sources.data(), sources.size(), static_cast<int>(patience * 1000));
  stop_.check();
  for (auto* const process : {&front_, &decode_}) {
    if (!*process) continue;
    take_in(**process);
    if ((*process)->lines().ended()) example::throw_ended(**process);
  }
}

Outcomes Fleet::serve(const std::vector<TimedRequest>& requests,
                      const std::function<void(std::size_t answered)>& on_answer) {
  const double begin = steady_seconds();
  outcomes_.clear();
  answered_ = 0;
  last_news_ = begin;
  std::size_t sent = 0;
  while (answered_ < requests.size()) {
    for (; sent < requests.size() && begin + requests[sent].at <= steady_seconds(); ++sent) {
      const TimedRequest& due = requests[sent];
      outcomes_[due.request.id] = {.request = due.request, .sent = begin + due.at};
      if (!front_->send(due.request)) example::throw_ended(*front_);
      last_news_ = steady_seconds();
    }
    const double patience =
        sent < requests.size() ? std::max(begin + requests[sent].at - steady_seconds(), 0.001) : 1;
    const std::size_t before = answered_;
    listen(std::min(patience, 1.0));
    if (answered_ > before && on_answer) on_answer(answered_);
    if (sent > answered_ && steady_seconds() - last_news_ > kSilenceSeconds) {
      throw Failure("nothing has come for ten minutes; " + std::to_string(sent - answered_) +
                    " requests are not answered");
    }
  }
  return std::move(outcomes_);
}

void Fleet::finish() {
  front_->close_input();
  await_end(*front_);
  if (!decode_) return;
  decode_->close_input();
  await_end(*decode_);
}

}  // namespace aqua::prefill_decode
