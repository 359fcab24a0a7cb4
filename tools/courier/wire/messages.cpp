// SPDX-License-Identifier: Apache-2.0
#include "tools/courier/wire/messages.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/concat.hpp"
#include "base/json_object.hpp"
#include "base/keeper/packets.hpp"
#include "base/shallow_json.hpp"
#include "base/text/hex.hpp"
#include "parcel/parcel_json.hpp"
#include "parcel/segment_json.hpp"

namespace aqua::courier {
namespace {

using Json = nlohmann::json;
using keeper_wire::read_number;

constexpr std::size_t kMostSaid = 500;  // bytes of another's words for people

Json with_ucx(Json json, const std::optional<UcxPoint>& ucx) {
  if (ucx) json["ucx"] = json_of(*ucx);
  return json;
}
Json to_json(const Hello& said) {
  return with_ucx({{"say", "hello"},
                   {"version", said.version},
                   {"pool", said.pool},
                   {"from", said.from},
                   {"to", said.to},
                   {"index", said.index}},
                  said.ucx);
}
Json to_json(const MirrorHello& said) {
  return with_ucx({{"say", "mirror"}, {"version", said.version}}, said.ucx);
}
Json to_json(const Welcome& said) {
  return with_ucx({{"say", "welcome"}, {"why_not", said.why_not}}, said.ucx);
}
Json to_json(const Settled& said) {
  return {{"say", "settled"}, {"ucx", said.ucx}, {"why_not", said.why_not}};
}
Json numbers_of(const Original& original) {
  return {original.keeper, original.number, original.generation};
}
Json to_json(const Held& said) {
  Json all = Json::array();
  for (const Original& one : said.all) all.push_back(numbers_of(one));
  return {{"say", "held"}, {"all", all}};
}
Json to_json(const Copy& said) {
  return {{"say", "copy"},
          {"number", said.number},
          {"original", numbers_of(said.original)},
          {"bytes", said.bytes},
          {"digest", to_hex(said.digest)}};
}
Json to_json(const Forget& said) {
  return {{"say", "forget"}, {"original", numbers_of(said.original)}};
}
Json to_json(const Offer& said) {
  return {{"say", "offer"}, {"number", said.number}, {"parcel", pool_wire::json_of(said.parcel)}};
}
Json to_json(const Withdraw& said) {
  return {{"say", "withdraw"}, {"number", said.number}};
}
Json to_json(const CutOff& said) {
  return {{"say", "cut off"}, {"id", said.head.id}, {"turn", said.head.turn}};
}
Json to_json(const Go& said) {
  return {{"say", "go"}, {"number", said.number}};
}
Json to_json(const Stale& said) {
  return {{"say", "stale"}, {"number", said.number}, {"turn", said.turn}};
}
Json to_json(const Later& said) {
  return {{"say", "later"}, {"number", said.number}};
}
Json to_json(const Landed& said) {
  return {{"say", "landed"}, {"number", said.number}};
}
Json to_json(const Ended& said) {
  return {{"say", "ended"}, {"number", said.number}, {"what", pool_wire::name_of(said.what)}};
}
Json to_json(const Refused& said) {
  return {{"say", "refused"},
          {"number", said.number},
          {"code", to_string(said.error.code)},
          {"message", said.error.message}};
}

std::optional<UcxPoint> read_ucx(JsonObject& object) {
  if (!object.has("ucx")) return std::nullopt;
  auto point = ucx_point_of(*object.take("ucx"));
  if (!point) object.fail("ucx is not a key and an address");
  return point;
}

Hello read_hello(JsonObject& object) {
  Hello said{.version = object.count("version", 1, keeper_wire::kMostCount)};
  said.pool = object.text("pool");
  said.from = object.text("from");
  said.to = object.text("to");
  said.index = object.count("index", 0, keeper_wire::kMostCount);
  said.ucx = read_ucx(object);
  return said;
}

std::optional<Original> original_of(const Json& json) {
  const bool good = json.is_array() && json.size() == 3 &&
                    std::ranges::all_of(json, [](const Json& n) { return n.is_number_unsigned(); });
  if (!good) return std::nullopt;
  return Original{json[0].get<std::uint64_t>(), json[1].get<std::uint64_t>(),
                  json[2].get<std::uint64_t>()};
}

Original read_original(JsonObject& object) {
  const Json* const json = object.take("original");
  const auto original = json == nullptr ? std::nullopt : original_of(*json);
  if (!original) object.fail("original is not of three numbers");
  return original.value_or(Original{});
}

Held read_held(JsonObject& object) {
  Held said;
  const Json* const all = object.take("all");
  bool good = all != nullptr && all->is_array() && all->size() <= kMostHeld;
  for (std::size_t i = 0; good && i < all->size(); ++i) {
    const auto one = original_of((*all)[i]);
    good = one.has_value();
    if (good) said.all.push_back(*one);
  }
  if (!good) object.fail(concat("all is not a list of at most ", kMostHeld));
  return said;
}

Copy read_copy(JsonObject& object) {
  Copy said{.number = read_number(object, "number"), .original = read_original(object)};
  said.bytes = segment_wire::read_size(object, "bytes");
  said.digest = segment_wire::read_digest(object);
  if (said.number == 0 || said.bytes == 0) object.fail("a copy without a number, or bytes");
  return said;
}

Offer read_offer(JsonObject& object) {
  const std::uint64_t number = read_number(object, "number");
  const Json* const json = object.take("parcel");
  if (json == nullptr) return {};
  auto parcel = pool_wire::read_whole_parcel(*json);
  if (!parcel.ok()) {
    object.fail(parcel.error().message);
    return {};
  }
  if (number == 0 || parcel->given == 0 || parcel->segment.number == 0 ||
      parcel->segment.bytes == 0) {
    object.fail("an offer without a number, a turn that it was given under, or bytes");
  }
  return {number, *std::move(parcel)};
}

Refused read_refused(JsonObject& object) {
  Refused said{.number = read_number(object, "number")};
  said.error.code = keeper_wire::code_named(object.text("code"));
  said.error.message = in_a_line(object.text("message"));
  return said;
}

Message read_message(JsonObject& object, const std::string& say) {
  if (say == "hello") return read_hello(object);
  if (say == "mirror") {
    const std::uint32_t version = object.count("version", 1, keeper_wire::kMostCount);
    return MirrorHello{version, read_ucx(object)};
  }
  if (say == "welcome") return Welcome{read_ucx(object), in_a_line(object.text("why_not"))};
  if (say == "settled") {
    return Settled{object.flag_or("ucx", false), in_a_line(object.text("why_not"))};
  }
  if (say == "held") return read_held(object);
  if (say == "copy") return read_copy(object);
  if (say == "forget") return Forget{read_original(object)};
  if (say == "offer") return read_offer(object);
  if (say == "refused") return read_refused(object);
  if (say == "cut off") return CutOff{pool_wire::read_head(object)};
  const std::uint64_t number = read_number(object, "number");
  if (say == "withdraw") return Withdraw{number};
  if (say == "go") return Go{number};
  if (say == "stale") return Stale{number, read_number(object, "turn")};
  if (say == "later") return Later{number};
  if (say == "landed") return Landed{number};
  if (say == "ended") {
    const ParcelEvent what = pool_wire::read_event(object, "what");
    if (!is_an_end(what)) object.fail("a parcel does not end so");
    return Ended{number, what};
  }
  object.fail(concat("nobody says '", say.substr(0, 40), "'"));
  return Welcome{};
}

}  // namespace

std::string in_a_line(std::string_view said) {
  std::string line(said.substr(0, kMostSaid));
  std::ranges::replace_if(
      line, [](char c) { return c < ' ' || c > '~'; }, '?');
  return line;
}

Error sent_away(const Refused& said) {
  return Error{Code::unavailable, concat("the other side ends it: ", said.error.message)};
}

std::string encode(const Message& message) {
  return keeper_wire::dump(std::visit([](const auto& said) { return to_json(said); }, message));
}

Result<Message> decode(std::string_view words) {
  const Json json = parse_shallow(words, keeper_wire::kDeepest);
  JsonObject object(json, "courier");
  Message message = read_message(object, object.text("say"));
  if (const auto read = object.finish(); !read.ok()) {
    return Error{read.error().code, in_a_line(read.error().message)};
  }
  return message;
}

}  // namespace aqua::courier
