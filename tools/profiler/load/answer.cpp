// SPDX-License-Identifier: Apache-2.0
#include "tools/profiler/load/answer.hpp"

#include "base/concat.hpp"
#include "tools/http/engine_answer.hpp"
#include "tools/http/sse.hpp"

namespace aqua::profiler {
namespace {

constexpr std::uint64_t kMostTokens = 1'000'000'000;

// What the events of one stream add up to.
class Stream {
 public:
  Stream(const Ask& ask, const std::function<bool(Clock::time_point)>& token)
      : most_(std::uint64_t{ask.output_tokens} + 1), token_(token) {}

  // Only tokens are something: of all else there may be no end.
  Heard feed(std::string_view bytes, Clock::time_point at) {
    const std::uint64_t before = tokens_;
    const auto read = reader_.feed(bytes, [&](std::string_view data) { take(data, at); });
    if (!read.ok()) fault_ = read.error().message;
    if (!fault_.empty() || stopped_) return Heard::enough;
    return tokens_ > before ? Heard::something : Heard::nothing;
  }

  void conclude(Answer& answer) const {
    if (usage_) {
      answer.usage = true;
      answer.prompt_tokens = usage_->prompt_tokens;
      answer.output_tokens = usage_->completion_tokens;
    } else {
      answer.output_tokens = tokens_;
    }
    if (!fault_.empty()) answer.fault = fault_;
    if (answer.fault.empty() && tokens_ == 0) answer.fault = "gives an answer without a token";
    if (answer.fault.empty() && !done_)
      answer.fault = "broke off: its answer ended without finish_reason and [DONE]";
    // Nobody computes so many; they would be taken for memory.
    if (answer.fault.empty() && usage_ &&
        (usage_->prompt_tokens > kMostTokens || usage_->completion_tokens > kMostTokens)) {
      answer.fault = concat("its usage says ", usage_->prompt_tokens, " and ",
                            usage_->completion_tokens, " tokens");
    }
    // A usage of fewer tokens than came, each in an event of its own, was made up.
    if (answer.fault.empty() && usage_ && usage_->completion_tokens + 1 < tokens_) {
      answer.fault =
          concat("its usage says ", usage_->completion_tokens, " tokens, ", tokens_, " came");
    }
  }

 private:
  void take(std::string_view data, Clock::time_point at) {
    if (!fault_.empty() || stopped_) return;
    const auto event = parse_event(data);
    if (!event.ok()) {
      fault_ = event.error().message;
      return;
    }
    if (event->usage) usage_ = event->usage;
    done_ = done_ || event->done;
    // Where one token was asked for, what ends the answer is that token: part of a character, say.
    const bool only_one = event->ended && most_ == 2 && tokens_ == 0;
    if (!event->token && !only_one) return;
    if (++tokens_ > most_) {
      fault_ = concat("does not end its answers: ", tokens_, " tokens came of the ", most_ - 1,
                      " asked for");
      return;
    }
    stopped_ = !token_(at);
  }

  const std::uint64_t most_;  // one event may be more than a token that was asked for
  const std::function<bool(Clock::time_point)>& token_;
  http::SseReader reader_;
  std::optional<Usage> usage_{};
  std::uint64_t tokens_ = 0;
  std::string fault_{};
  bool done_ = false;
  bool stopped_ = false;
};

}  // namespace

Answer ask_engine(HttpClient& client, const EngineLink& engine, const Ask& ask, std::uint64_t seed,
                  const std::function<bool(Clock::time_point)>& token) {
  Answer answer{.prompt_tokens = ask.prompt_tokens};
  Stream stream(ask, token);
  const auto reply = client.post(
      "/v1/completions", completion_body(engine.model, ask, seed),
      [&](std::string_view bytes, Clock::time_point at) { return stream.feed(bytes, at); });
  if (!reply.ok()) {
    answer.ours = reply.error().code == Code::resource_exhausted;
    answer.fault = reply.error().message;
  } else if (reply->status != 200) {
    answer.refused = reply->status == 429 || reply->status == 503;
    answer.fault = concat("answers ", reply->status, ": ", http::error_text(reply->body));
    return answer;
  }
  stream.conclude(answer);
  return answer;
}

std::string unlike(const Ask& ask, const Answer& answer) {
  constexpr std::uint64_t kAdded = 2;  // to a prompt, by some engines: where it begins and ends
  if (!answer.usage) return {};
  if (answer.output_tokens < ask.output_tokens) {
    return concat("ends answers before their length: after ", answer.output_tokens, " of ",
                  ask.output_tokens, " tokens; does it know ignore_eos and min_tokens?");
  }
  if (answer.prompt_tokens + kAdded < ask.prompt_tokens ||
      answer.prompt_tokens > ask.prompt_tokens + kAdded) {
    return concat("takes prompts for other ones: of ", answer.prompt_tokens,
                  " tokens where they have ", ask.prompt_tokens);
  }
  return {};
}

}  // namespace aqua::profiler
