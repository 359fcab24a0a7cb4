// SPDX-License-Identifier: Apache-2.0
#include "speech/told.hpp"

#include <nlohmann/json.hpp>

namespace aqua::fleet {
namespace {

using Json = nlohmann::json;

std::string event_of(const Json& json) {
  return "data: " + json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n\n";
}

std::string move_event(Json told) {
  return event_of({{"aqua", std::move(told)}});
}

}  // namespace

std::string token_event(const Said& said) {
  Json told{{"choices",
             {{{"index", 0},
               {"text", said.text},
               {"token_ids", {said.token}},
               {"finish_reason", said.finish.empty() ? Json(nullptr) : Json(said.finish)}}}}};
  if (said.turn > 0) told["aqua"] = {{"turn", said.turn}, {"position", said.position}};
  std::string event = event_of(told);
  if (!said.finish.empty()) event += "data: [DONE]\n\n";
  return event;
}

std::string error_event(std::string_view why) {
  return event_of({{"error", {{"message", why}}}});
}

std::string reserved_event(std::uint32_t room_tokens) {
  return move_event({{"event", "reserved"}, {"room_tokens", room_tokens}});
}

std::string confirmed_event(migration::Position position) {
  return move_event({{"event", "confirmed"}, {"position", position}});
}

Reason reason_of(migration::Stays stays) {
  using migration::Stays;
  const auto named = [&](const char* name) { return Reason{name, std::string(why(stays))}; };
  switch (stays) {
    case Stays::prefill:
      return named("not_yet");
    case Stays::refused:
      return named("no_room");
    case Stays::outgrown:
      return named("outgrown");
    case Stays::lost:
      return named("dropped");
    case Stays::destination_died:
    case Stays::router_died:
      return named("died");
    case Stays::timed_out:
      return named("too_late");
    case Stays::moves:
    case Stays::several_answers:
    case Stays::guided:
      break;
  }
  return named("refused");
}

Reason no_pool() {
  return {"no_pool", "its KV is in memory of the engine's own"};
}

Reason no_keeper() {
  return {"no_pool", "the keeper of its pool is away"};
}

std::string failed_event(const Reason& reason) {
  return move_event({{"event", "failed"}, {"reason", reason.name}, {"why", reason.why}});
}

std::string reported_event(const Reason& reason) {
  return move_event({{"event", "reported"}, {"reason", reason.name}, {"why", reason.why}});
}

std::string asked_event(const std::optional<Reason>& reason) {
  if (!reason) return move_event({{"event", "asked"}});
  return move_event({{"event", "asked"}, {"reason", reason->name}, {"why", reason->why}});
}

std::string whole_answer(std::span<const Token> tokens, std::string_view text,
                         std::string_view finish) {
  return Json{{"object", "text_completion"},
              {"choices",
               {{{"index", 0},
                 {"text", text},
                 {"token_ids", std::vector<Token>(tokens.begin(), tokens.end())},
                 {"finish_reason", finish}}}}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace aqua::fleet
