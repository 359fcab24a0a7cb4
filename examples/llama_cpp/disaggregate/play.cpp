// SPDX-License-Identifier: Apache-2.0
#include "disaggregate/play.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <deque>
#include <optional>
#include <utility>

#include "child_process.hpp"
#include "disaggregate/messages.hpp"
#include "must.hpp"
#include "report.hpp"
#include "verdict.hpp"
#include "workplace.hpp"

namespace aqua::llama_example {
namespace {

using example::ChildProcess;
using example::Failure;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::chrono::seconds kPatience{120};  // for a start, an end, or any news

class Serving {
 public:
  Serving(const Options& options, const std::filesystem::path& model,
          const std::vector<ChatRequest>& requests)
      : options_(options), model_(model), requests_(requests) {
    for (const ChatRequest& request : requests) {
      waiting_.push_back({request.id, 1, request.prompt, request.output_tokens});
      progress_.all_tokens += request.output_tokens;
    }
    result_.served.answers.resize(requests.size());
    start(keeper_, "keeper", "listening");
    start(prefill_, "prefill", "ready");
    start_decode();
  }

  Disaggregated run(const std::function<void(const Progress&)>& each_turn) {
    start_ = Clock::now();  // the model is loaded
    while (progress_.tokens < progress_.all_tokens) {
      send_prompt();
      listen();
      kill_what_is_due();
      progress_.waiting = waiting_.size();
      each_turn(progress_);
    }
    result_.served.seconds = seconds();
    result_.served.tokens = progress_.tokens;
    for (auto* const process : {&prefill_, &decode_}) {
      (*process)->close_input();
      const auto status = (*process)->wait(kPatience);
      if (!status) throw Failure((*process)->name() + " does not end");
      if (*status != 0) throw Failure((*process)->name() + " " + example::describe_status(*status));
    }
    return std::move(result_);
  }

 private:
  void start(std::optional<ChildProcess>& process, const std::string& part, const char* word) {
    std::vector<std::string> line{std::filesystem::read_symlink("/proc/self/exe")};
    const auto add = [&](const char* option, const std::string& value) {
      line.insert(line.end(), {option, value});
    };
    add("--part", part);
    add("--parent", std::to_string(::getpid()));
    add("--directory", directory_.path());
    add("--model", model_);
    add("--slots", std::to_string(options_.slots));
    add("--prompt-tokens", std::to_string(options_.prompt_tokens));
    add("--output-tokens", std::to_string(options_.output_tokens));
    add("--threads", std::to_string(options_.threads));
    if (!options_.disaggregate.keeper.empty()) add("--keeper-binary", options_.disaggregate.keeper);
    if (options_.flip) line.emplace_back("--flip-a-byte");
    process.emplace(part, line);
    example::await_line(*process, word, kPatience);
  }

  void start_decode() {
    start(decode_, "decode", "ready");
    Answered told;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (result_.served.answers[i].tokens.size() == requests_[i].output_tokens)
        told.answered.push_back(i);
    }
    (void)decode_->send(told);
  }

  void send_prompt() {
    if (sent_ || waiting_.empty()) return;
    (void)prefill_->send(waiting_.front());
    sent_ = std::move(waiting_.front());
    waiting_.pop_front();
  }

  void listen() {
    pollfd news[] = {{prefill_->output(), POLLIN, 0}, {decode_->output(), POLLIN, 0}};
    const auto patience = std::chrono::milliseconds(kPatience).count();
    if (::poll(news, std::size(news), static_cast<int>(patience)) == 0)
      throw Failure("nothing has come for two minutes");
    for (auto* const process : {&prefill_, &decode_}) {
      hear(**process);
      if ((*process)->lines().ended()) example::throw_ended(**process);
    }
  }

  void hear(ChildProcess& process) {
    for (const std::string& line : process.lines().read(0ms)) {
      const auto message = example::parse_line(line);
      if (message.contains("kept")) {
        if (sent_ && sent_->sequence == message.get<Kept>().kept) sent_.reset();
      } else {
        take(message.get<Said>());
      }
    }
  }

  // What was said first counts.
  void take(const Said& said) {
    Answer& answer = result_.served.answers.at(said.sequence);
    if (said.index < answer.tokens.size()) {
      ++result_.said_twice;
      if (answer.tokens[said.index] != said.token) ++result_.said_otherwise;
      return;
    }
    if (said.index > answer.tokens.size()) throw Failure("decode leaves out a token");
    if (said.index == 0) answer.first_token_seconds = seconds();
    answer.tokens.push_back(said.token);
    answer.logits_hash = said.logits_hash;
    ++progress_.tokens;
  }

  void kill_what_is_due() {
    const unsigned all = options_.disaggregate.kills;
    const unsigned so_far = result_.prefill_kills + result_.decode_kills;
    if (so_far == all || progress_.tokens * (all + 1) < progress_.all_tokens * (so_far + 1)) return;
    if (so_far % 2 == 0) {
      kill(*prefill_);
      ++result_.prefill_kills;
      if (auto prompt = std::exchange(sent_, {})) {
        ++prompt->attempt;
        ++result_.given_again;
        waiting_.push_front(std::move(*prompt));
      }
      start(prefill_, "prefill", "ready");
    } else {
      kill(*decode_);
      ++result_.decode_kills;
      start_decode();
    }
  }

  void kill(ChildProcess& process) {
    process.signal(SIGKILL);
    if (!process.wait(kPatience)) throw Failure(process.name() + " does not die");
    hear(process);  // what it had said
  }

  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }

  const Options& options_;
  const std::filesystem::path model_;
  const std::vector<ChatRequest>& requests_;
  const example::PrivateDirectory directory_;
  std::optional<ChildProcess> keeper_{}, prefill_{}, decode_{};
  std::deque<Prompt> waiting_{};
  std::optional<Prompt> sent_{};  // to prefill, and not known to be kept
  Progress progress_{};
  Disaggregated result_{};
  Clock::time_point start_{};
};

}  // namespace

Disaggregated serve_disaggregated(const Options& options, const std::filesystem::path& model,
                                  const std::vector<ChatRequest>& requests,
                                  const std::function<void(const Progress&)>& each_turn) {
  return Serving(options, model, requests).run(each_turn);
}

int judge(const Disaggregated& apart, const Served& reference, const Options& options) {
  nlohmann::json report = to_json(apart.served, reference);
  report.update({{"conversations", apart.served.answers.size()},
                 {"kills", {{"prefill", apart.prefill_kills}, {"decode", apart.decode_kills}}},
                 {"tokens_said_twice", apart.said_twice},
                 {"tokens_said_otherwise", apart.said_otherwise},
                 {"prompts_given_again", apart.given_again},
                 {"tokens_per_second_of_one_process",
                  static_cast<double>(reference.tokens) / reference.seconds}});
  const std::size_t all = apart.served.answers.size();
  const std::size_t tokens = report.at("conversations_with_equal_tokens");
  const std::size_t logits = report.at("conversations_with_equal_logits");
  std::printf("%zu conversations: %zu with the tokens of one process, %zu with its logits\n", all,
              tokens, logits);
  std::printf(
      "killed: prefill %u times, decode %u times; %zu prompts were given again, "
      "%zu tokens said twice\n",
      apart.prefill_kills, apart.decode_kills, apart.given_again, apart.said_twice);
  if (!options.json.empty()) example::write_json(options.json, report);
  std::vector<std::string> complaints;
  if (tokens < all || logits < all)
    complaints.emplace_back("tokens or logits differ from those of one process");
  if (apart.said_otherwise > 0)
    complaints.emplace_back("a sequence that was decoded again got other tokens");
  if (apart.prefill_kills + apart.decode_kills != options.disaggregate.kills)
    complaints.emplace_back("all was answered before the last kill");
  return example::verdict(complaints);
}

}  // namespace aqua::llama_example
