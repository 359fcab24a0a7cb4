// SPDX-License-Identifier: Apache-2.0
#include "speech/orders.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace aqua::fleet {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 7> kOrders{"move",  "resume",      "abandon", "hurry",
                                                  "grant", "source_died", "sweep"};

Result<std::string> text(const Json& body, const char* name) {
  const auto found = body.find(name);
  if (found == body.end() || !found->is_string() || found->get_ref<const std::string&>().empty())
    return Error{Code::invalid_argument, std::string(name) + " is no text"};
  return found->get<std::string>();
}

Result<std::uint64_t> number(const Json& body, const char* name, std::uint64_t most) {
  const auto found = body.find(name);
  if (found == body.end() || !found->is_number_unsigned() || found->get<std::uint64_t>() > most)
    return Error{Code::invalid_argument, std::string(name) + " is no whole number in its range"};
  return found->get<std::uint64_t>();
}

Result<void> read_move(const Json& body, Order& order) {
  auto to = text(body, "to");
  if (!to.ok()) return std::move(to).error();
  const auto move = number(body, "move", UINT64_MAX);
  if (!move.ok()) return move.error();
  const auto answered = number(body, "answered", UINT32_MAX);
  if (!answered.ok()) return answered.error();
  const auto room = number(body, "room_tokens", UINT32_MAX);
  if (!room.ok()) return room.error();
  order.to = std::move(to).value();
  order.move = *move;
  order.answered = static_cast<std::uint32_t>(*answered);
  order.room_tokens = static_cast<std::uint32_t>(*room);
  return {};
}

}  // namespace

Result<Order> parse_order(std::string_view bytes) {
  const Json body = Json::parse(bytes, nullptr, false);
  if (!body.is_object()) return Error{Code::invalid_argument, "the body is no JSON object"};
  auto what = text(body, "order");
  if (!what.ok()) return std::move(what).error();
  const auto* const known = std::find(kOrders.begin(), kOrders.end(), *what);
  if (known == kOrders.end()) return Error{Code::invalid_argument, "no such order: " + *what};
  Order order{.what = static_cast<Order::What>(known - kOrders.begin())};
  auto request = text(body, "request");
  if (!request.ok()) return std::move(request).error();
  order.name.request = std::move(request).value();
  const auto turn = number(body, "turn", UINT64_MAX);
  if (!turn.ok()) return turn.error();
  order.name.turn = *turn;
  if (order.what == Order::What::move) {
    if (auto read = read_move(body, order); !read.ok()) return std::move(read).error();
  } else if (order.what == Order::What::resume && body.contains("move")) {
    const auto move = number(body, "move", UINT64_MAX);
    if (!move.ok()) return move.error();
    order.move = *move;
  } else if (order.what == Order::What::grant) {
    const auto position = number(body, "position", UINT32_MAX);
    if (!position.ok()) return position.error();
    order.position = *position;
  }
  return order;
}

}  // namespace aqua::fleet
