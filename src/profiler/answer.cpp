#include "profiler/answer.hpp"

#include "base/concat.hpp"
#include "profiler/sse.hpp"

namespace aqua::profiler {
namespace {

constexpr std::uint64_t kMostTokens = 1'000'000'000;

// What the events of one stream add up to.
class Stream {
 public:
  explicit Stream(const std::function<bool(Clock::time_point)>& token) : token_(token) {}

  bool feed(std::string_view bytes, Clock::time_point at) {
    const auto read = reader_.feed(bytes, [&](std::string_view data) { take(data, at); });
    if (!read.ok()) fault_ = read.error().message;
    return fault_.empty() && !stopped_;
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
    if (answer.fault.empty() && tokens_ == 0) answer.fault = "an answer without a token";
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
    if (!event->token) return;
    ++tokens_;
    stopped_ = !token_(at);
  }

  const std::function<bool(Clock::time_point)>& token_;
  SseReader reader_;
  std::optional<Usage> usage_{};
  std::uint64_t tokens_ = 0;
  std::string fault_{};
  bool done_ = false;
  bool stopped_ = false;
};

}  // namespace

Answer ask_engine(Caller& caller, const EngineLink& engine, const Ask& ask, std::uint64_t seed,
                  const std::function<bool(Clock::time_point)>& token) {
  Answer answer{.prompt_tokens = ask.prompt_tokens};
  Stream stream(token);
  const auto reply = caller.post(
      "/v1/completions", completion_body(engine.model, ask, seed),
      [&](std::string_view bytes, Clock::time_point at) { return stream.feed(bytes, at); });
  if (!reply.ok()) {
    answer.ours = reply.error().code == Code::resource_exhausted;
    answer.fault = reply.error().message;
  } else if (reply->status != 200) {
    answer.refused = reply->status == 429 || reply->status == 503;
    answer.fault = concat("answers ", reply->status, ": ", error_text(reply->body));
    return answer;
  }
  stream.conclude(answer);
  return answer;
}

}  // namespace aqua::profiler
