// SPDX-License-Identifier: Apache-2.0
#include "tools/router/speech/kv_moves.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/concat.hpp"
#include "base/shallow_json.hpp"
#include "tools/http/engine_answer.hpp"
#include "tools/report/text.hpp"

namespace aqua::router {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 5> kWords{"reserved", "confirmed", "failed", "reported",
                                                 "asked"};
constexpr std::size_t kMostPoolName = 1024;
constexpr std::size_t kMostReached = 4096;
constexpr std::uint64_t kMostMoveTokens = 1'000'000'000;

std::string dumped(const Json& body) {
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string text_in(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<std::uint64_t> number_in(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_unsigned()) return {};
  const auto number = found->get<std::uint64_t>();
  return number > kMostMoveTokens ? std::nullopt : std::optional(number);
}

// Roles of a list; none where it makes no sense.
std::vector<std::string> roles_in(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_array() || found->size() > kMostReached) return {};
  std::vector<std::string> roles;
  for (const Json& role : *found) {
    if (!role.is_string() || role.get_ref<const std::string&>().size() > kMostPoolName) return {};
    roles.push_back(role.get<std::string>());
  }
  return roles;
}

Json order_of(std::string_view order, const AttemptName& name) {
  return {{"order", order}, {"request", name.request}, {"turn", name.turn}};
}

}  // namespace

EnginePool parse_pool(std::string_view body) {
  const Json answer = parse_shallow(body);
  if (!answer.is_object()) return {};
  EnginePool pool{.pool = text_in(answer, "pool"),
                  .role = text_in(answer, "role"),
                  .reaches = roles_in(answer, "reaches")};
  if (const auto away = answer.find("away"); away != answer.end())
    pool.away = !away->is_boolean() || away->get<bool>();
  const bool clean = !pool.pool.empty() && !pool.role.empty() &&
                     pool.pool.size() <= kMostPoolName && pool.role.size() <= kMostPoolName;
  return clean ? pool : EnginePool{};
}

EngineCall named(EngineCall call, const AttemptName& name, std::uint64_t answered,
                 const std::string& from) {
  Json aqua{{"request", name.request},
            {"turn", name.turn},
            {"answered", answered},
            {"receive", !from.empty()}};
  if (!from.empty()) aqua["from"] = from;
  call.body.pop_back();  // the object's end: a long prompt is not read again for this
  call.body += concat(R"(,"aqua":)", dumped(aqua), "}");
  return call;
}

Result<std::optional<MoveWord>> parse_move_word(std::string_view data) {
  // An event with tokens has `choices`, and is not read twice.
  if (data.find(R"("aqua")") == data.npos || data.find(R"("choices":)") != data.npos)
    return std::optional<MoveWord>();
  const Json event = parse_shallow(data);
  if (!event.is_object() || !event.contains("aqua") || event.contains("choices"))
    return std::optional<MoveWord>();
  const auto senseless = [&] {
    return Error{Code::data_loss,
                 concat("says of a move what makes no sense: ", report::shown(data))};
  };
  const Json& said = event.at("aqua");
  if (!said.is_object()) return senseless();
  const auto* const known = std::ranges::find(kWords, text_in(said, "event"));
  if (known == kWords.end()) return senseless();
  MoveWord word{.what = static_cast<MoveWord::What>(known - kWords.begin()),
                .reason = failure_named(text_in(said, "reason")),
                .why = http::message_shown(text_in(said, "why"))};
  if (word.what == MoveWord::What::reserved) {
    const auto room = number_in(said, "room_tokens");
    if (!room) return senseless();
    word.room_tokens = *room;
  } else if (word.what == MoveWord::What::confirmed) {
    const auto position = number_in(said, "position");
    if (!position) return senseless();
    word.position = *position;
  }
  return std::optional(std::move(word));
}

EngineCall move_order(const AttemptName& source, const EnginePool& to, Turn move,
                      std::uint64_t answered, std::uint64_t room_tokens) {
  Json order = order_of("move", source);
  order["to"] = to.role;
  order["move"] = move;
  order["answered"] = answered;
  order["room_tokens"] = room_tokens;
  return {kOrdersPath, dumped(order)};
}

EngineCall grant_order(const AttemptName& destination, migration::Position from) {
  Json order = order_of("grant", destination);
  order["position"] = from;
  return {kOrdersPath, dumped(order)};
}

EngineCall resume_order(const AttemptName& source, Turn move) {
  Json order = order_of("resume", source);
  order["move"] = move;
  return {kOrdersPath, dumped(order)};
}

EngineCall plain_order(std::string_view order, const AttemptName& name) {
  return {kOrdersPath, dumped(order_of(order, name))};
}

EngineCall sweep_order(const AttemptName& up_to) {
  return plain_order("sweep", up_to);
}

}  // namespace aqua::router
