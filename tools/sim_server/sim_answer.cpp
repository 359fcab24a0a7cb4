// SPDX-License-Identifier: Apache-2.0
#include "tools/sim_server/sim_answer.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::tool {
namespace {

using Json = nlohmann::json;

constexpr std::chrono::milliseconds kHeartbeat{20};
constexpr const char* kTooLarge = "larger than all of the KV memory";

std::string event(const Json& json) {
  return concat("data: ", json.dump(), "\n\n");
}

Json reason_of(std::string_view reason) {
  return reason.empty() ? Json(nullptr) : Json(reason);
}

}  // namespace

SimAnswer::SimAnswer(LiveEngine& engine, SimRequest request)
    : engine_(engine),
      request_(std::move(request)),
      job_(engine.submit(static_cast<std::uint32_t>(request_.prompt.size()), request_.max_tokens)),
      continuation_(request_.prompt, request_.seed) {}

SimAnswer::~SimAnswer() {
  engine_.abort(job_);
}

SimAnswer::Produced SimAnswer::take_token() {
  const TokenId id = continuation_.next(!request_.ignore_eos && taken_ >= request_.min_tokens);
  ++taken_;
  Produced produced{.text = detokenizer_.feed(id), .ids = {id}};
  if (id == kEnd) produced.reason = "stop";
  if (id != kEnd && taken_ == request_.max_tokens) produced.reason = "length";
  ended_ = !produced.reason.empty();
  return produced;
}

std::string SimAnswer::event_of(const Produced& token) const {
  Json choice{{"index", 0}, {"finish_reason", reason_of(token.reason)}};
  if (request_.chat) {
    choice["delta"] = {{"content", token.text}};
  } else {
    choice["text"] = token.text;
  }
  if (request_.tell_ids) choice["token_ids"] = token.ids;
  return event({{"object", request_.chat ? "chat.completion.chunk" : "text_completion"},
                {"choices", {std::move(choice)}}});
}

std::string SimAnswer::usage() const {
  return event({{"choices", Json::array()},
                {"usage",
                 {{"prompt_tokens", request_.prompt.size()},
                  {"completion_tokens", taken_},
                  {"total_tokens", request_.prompt.size() + taken_}}}});
}

std::string SimAnswer::next_events(bool& over) {
  const auto [produced, refused] = engine_.await(*job_, taken_, kHeartbeat);
  if (refused) {
    over = true;
    return event({{"error", {{"message", kTooLarge}}}});
  }
  if (produced == taken_) return ": busy\n\n";
  std::string events;
  while (taken_ < produced && !ended_) events += event_of(take_token());
  if (ended_) {
    over = true;
    if (request_.include_usage) events += usage();
    events += "data: [DONE]\n\n";
  }
  return events;
}

Result<std::string> SimAnswer::whole(const std::function<bool()>& gone) {
  Produced all;
  while (!ended_) {
    if (gone()) return Error{Code::cancelled, "the client has gone"};
    const auto [produced, refused] = engine_.await(*job_, taken_, kHeartbeat);
    if (refused) return Error{Code::resource_exhausted, kTooLarge};
    while (taken_ < produced && !ended_) {
      Produced token = take_token();
      all.text += token.text;
      all.ids.insert(all.ids.end(), token.ids.begin(), token.ids.end());
      all.reason = token.reason;
    }
  }
  Json choice{{"index", 0}, {"finish_reason", reason_of(all.reason)}};
  if (request_.chat) {
    choice["message"] = {{"role", "assistant"}, {"content", all.text}};
  } else {
    choice["text"] = all.text;
  }
  if (request_.tell_ids) choice["token_ids"] = all.ids;
  return Json{{"object", request_.chat ? "chat.completion" : "text_completion"},
              {"choices", {std::move(choice)}},
              {"usage",
               {{"prompt_tokens", request_.prompt.size()},
                {"completion_tokens", taken_},
                {"total_tokens", request_.prompt.size() + taken_}}}}
      .dump();
}

}  // namespace aqua::tool
