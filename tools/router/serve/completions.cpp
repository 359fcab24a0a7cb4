// SPDX-License-Identifier: Apache-2.0
#include "tools/router/serve/completions.hpp"

#include <httplib.h>

#include <ctime>
#include <memory>
#include <utility>

#include "base/concat.hpp"
#include "base/ids.hpp"
#include "tools/router/serve/fenced_stream.hpp"
#include "tools/router/speech/told.hpp"

namespace aqua::router {
namespace {

constexpr const char* kJson = "application/json";

int status_of(Code code) {
  switch (code) {
    case Code::invalid_argument:
      return 400;
    case Code::permission_denied:
      return 403;
    case Code::not_found:
      return 404;
    case Code::already_exists:
    case Code::failed_precondition:
      return 409;
    case Code::resource_exhausted:
      return 429;
    case Code::cancelled:
      return 499;
    case Code::data_loss:
      return 502;
    case Code::deadline_exceeded:
      return 504;
    case Code::unavailable:
      return 503;
    default:
      return 500;
  }
}

// One reply under way. The response holds it until it is written.
class Reply {
 public:
  Reply(const CompletionContext& context, Heading heading, Asked asked, std::string body)
      : heading_(std::move(heading)),
        stopping_(context.stopping),
        stream_(FencedStream::current()),
        conversation_(context.fleet, context.counters, context.options, std::move(asked),
                      std::move(body), heading_.id) {}

  // The first words, or the error instead of a reply.
  Result<void> begin() {
    if (auto begun = conversation_.begin(alive_); !begun.ok()) return why(begun.error());
    auto words = next();
    if (!words.ok()) return std::move(words).error();
    first_ = std::move(words).value();
    return {};
  }

  bool write_events(httplib::DataSink& sink) {
    std::string text = passed_on() ? std::string() : opening_event(heading_);
    std::vector<Conversation::Words> words = std::move(first_);
    for (;;) {
      for (const Conversation::Words& some : words) text += event_of(some);
      if (conversation_.over()) text += ending();
      if (!text.empty() && !sink.write(text.data(), text.size())) return false;
      if (conversation_.over()) break;
      auto more = next();
      if (!more.ok()) {  // no [DONE], and the connection ends: nobody takes it for an answer
        const std::string event = error_event(more.error());
        (void)sink.write(event.data(), event.size());
        return false;
      }
      words = std::move(more).value();
      text.clear();
    }
    sink.done();
    return true;
  }

  Result<std::string> whole() {
    WholeAnswer answer;
    std::vector<Conversation::Words> words = std::move(first_);
    for (;;) {
      for (Conversation::Words& some : words) {
        if (some.raw) return *std::move(some.raw);
        answer.text += some.text;
        answer.ids.insert(answer.ids.end(), some.ids.begin(), some.ids.end());
        answer.finish = some.finish;
      }
      if (conversation_.over()) break;
      auto more = next();
      if (!more.ok()) return std::move(more).error();
      words = std::move(more).value();
    }
    answer.prompt_tokens = conversation_.prompt_tokens();
    answer.completion_tokens = conversation_.answer_tokens();
    return whole_answer(heading_, answer);
  }

 private:
  [[nodiscard]] bool passed_on() const { return !conversation_.asked().stays.empty(); }

  Result<std::vector<Conversation::Words>> next() {
    auto words = conversation_.next(alive_);
    if (!words.ok()) return why(words.error());
    return words;
  }

  [[nodiscard]] Error why(const Error& error) const {
    if (error.code == Code::cancelled && stopping_())
      return {Code::unavailable, "the router is stopping"};
    return error;
  }

  [[nodiscard]] std::string event_of(const Conversation::Words& some) const {
    if (some.raw) return concat("data: ", *some.raw, "\n\n");
    return piece_event(heading_, some.text, some.ids, some.finish);
  }

  [[nodiscard]] std::string ending() const {
    if (passed_on()) return {};
    std::string text;
    if (conversation_.asked().include_usage) {
      text = usage_event(heading_, conversation_.prompt_tokens(), conversation_.answer_tokens());
    }
    return text.append(kDoneEvent);
  }

  const Heading heading_;
  const std::function<bool()> stopping_;
  const FencedStream& stream_;
  const Conversation::Alive alive_ = [this] { return stream_.client_is_there() && !stopping_(); };
  Conversation conversation_;
  std::vector<Conversation::Words> first_{};
};

}  // namespace

void answer_error(httplib::Response& reply, int status, const Error& error) {
  reply.status = status;
  reply.set_content(error_body(error), kJson);
}

void answer_error(httplib::Response& reply, const Error& error) {
  const int status = status_of(error.code);
  if (status == 429 || status == 503) reply.set_header("Retry-After", "1");
  answer_error(reply, status, error);
}

void complete(const CompletionContext& context, Api api, const httplib::Request& request,
              httplib::Response& reply) {
  auto asked = parse_asked(api, request.body);
  if (!asked.ok()) return answer_error(reply, asked.error());
  const auto endpoint = context.fleet.model();
  if (!endpoint.ok()) return answer_error(reply, endpoint.error());
  const std::string& model = (*endpoint)->model;
  if (!asked->model.empty() && asked->model != model) {
    return answer_error(
        reply, {Code::not_found, concat("this router serves ", model, "; see /v1/models")});
  }
  Heading heading{.api = api,
                  .id = concat(api == Api::chat ? "chatcmpl-" : "cmpl-",
                               to_string(random_id<struct NameTag>())),
                  .model = model,
                  .created = static_cast<std::int64_t>(std::time(nullptr)),
                  .tell_ids = asked->tell_ids};
  reply.set_header("Aqua-Request", heading.id);
  if (!asked->stays.empty()) reply.set_header("Aqua-Moves", "no");
  const bool stream = asked->stream;
  auto under_way =
      std::make_shared<Reply>(context, std::move(heading), *std::move(asked), request.body);
  if (auto begun = under_way->begin(); !begun.ok()) return answer_error(reply, begun.error());
  if (!stream) {
    const auto whole = under_way->whole();
    if (!whole.ok()) return answer_error(reply, whole.error());
    return reply.set_content(*whole, kJson);
  }
  reply.set_chunked_content_provider(
      "text/event-stream",
      [under_way](std::size_t, httplib::DataSink& sink) { return under_way->write_events(sink); });
}

}  // namespace aqua::router
