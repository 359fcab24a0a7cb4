// SPDX-License-Identifier: Apache-2.0
#include "parcel/parcel_json.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/concat.hpp"
#include "base/json_object.hpp"
#include "base/text/hex.hpp"
#include "base/try.hpp"
#include "parcel/segment_json.hpp"

namespace aqua::pool_wire {
namespace {

using Json = nlohmann::json;

// Blocks that follow each other are one run: its first, and how many.
template <typename Take>
void for_each_run(const Blocks& blocks, const Take& take) {
  for (std::size_t i = 0; i < blocks.size();) {
    std::size_t end = i + 1;
    while (end < blocks.size() && blocks[end] == blocks[end - 1] + 1) ++end;
    take(blocks[i], end - i);
    i = end;
  }
}

constexpr std::size_t digits(std::size_t number) {
  std::size_t count = 1;
  for (; number >= 10; number /= 10) ++count;
  return count;
}

std::string read_note(JsonObject& object) {
  const std::string text = object.text("note");
  std::string note;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    const int high = hex_value(text[i]);
    const int low = hex_value(text[i + 1]);
    if (high < 0 || low < 0) break;
    note += static_cast<char>(high * 16 + low);
  }
  if (note.size() * 2 != text.size()) object.fail("note is not of hexadecimal digits");
  return note;
}

std::string hex_of(std::string_view bytes) {
  return to_hex({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

constexpr std::array kEvents{ParcelEvent::opened,           ParcelEvent::confirmed,
                             ParcelEvent::superseded,       ParcelEvent::cancelled,
                             ParcelEvent::taken_superseded, ParcelEvent::cut_off,
                             ParcelEvent::declined};

}  // namespace

const char* name_of(ParcelEvent event) {
  switch (event) {
    case ParcelEvent::opened:
      return "opened";
    case ParcelEvent::confirmed:
      return "confirmed";
    case ParcelEvent::superseded:
      return "superseded";
    case ParcelEvent::cancelled:
      return "cancelled";
    case ParcelEvent::taken_superseded:
      return "taken superseded";
    case ParcelEvent::cut_off:
      return "cut off";
    case ParcelEvent::declined:
      return "declined";
  }
  return "";
}

Json json_of(const Blocks& blocks) {
  Json runs = Json::array();
  for_each_run(blocks, [&](std::uint32_t first, std::size_t count) {
    runs.push_back(first);
    runs.push_back(count);
  });
  return runs;
}

Blocks read_blocks(JsonObject& object) {
  Blocks blocks;
  const Json* runs = object.take("blocks");
  if (runs == nullptr) return blocks;
  bool good = runs->is_array() && runs->size() % 2 == 0;
  for (std::size_t i = 0; good && i < runs->size(); i += 2) {
    const Json& first = (*runs)[i];
    const Json& count = (*runs)[i + 1];
    good = first.is_number_unsigned() && count.is_number_unsigned() &&
           first.get<std::uint64_t>() < kMostPoolBlocks &&
           count.get<std::uint64_t>() <= kMostPoolBlocks - first.get<std::uint64_t>() &&
           count.get<std::uint64_t>() <= kMostPoolBlocks - blocks.size();
    for (std::uint64_t k = 0; good && k < count.get<std::uint64_t>(); ++k) {
      blocks.push_back(static_cast<std::uint32_t>(first.get<std::uint64_t>() + k));
    }
  }
  if (!good) object.fail("blocks is not a list of runs of blocks");
  return blocks;
}

Json json_of(const Parcel& parcel) {
  Json json{{"number", parcel.number},
            {"id", parcel.id},
            {"turn", parcel.turn},
            {"tokens", parcel.tokens},
            {"note", hex_of(parcel.note)},
            {"blocks", json_of(parcel.blocks)},
            {"tail_in_doubt", parcel.tail_in_doubt}};
  if (parcel.given != 0) json["given"] = parcel.given;
  if (!parcel.from.empty()) json["from"] = parcel.from;
  if (parcel.segment.number != 0) json["segment"] = segment_wire::json_of(parcel.segment);
  return json;
}

Parcel read_parcel(JsonObject& object) {
  Parcel parcel{.number = read_number(object, "number"), .id = object.text("id")};
  parcel.turn = read_number(object, "turn");
  parcel.tokens = object.count("tokens", 0, kMostCount);
  parcel.note = read_note(object);
  parcel.blocks = read_blocks(object);
  parcel.tail_in_doubt = object.flag_or("tail_in_doubt", false);
  if (object.has("given")) parcel.given = read_number(object, "given");
  parcel.from = object.text_or("from", "");
  if (object.has("segment")) {
    JsonObject name(*object.take("segment"), "keeper: segment");
    parcel.segment = segment_wire::read_name(name);
    if (const auto read = name.finish(); !read.ok()) object.fail(read.error().message);
    if (parcel.segment.number == 0) object.fail("a segment without a number");
  }
  return parcel;
}

ParcelHead read_head(JsonObject& object) {
  return {.id = object.text("id"), .turn = read_number(object, "turn")};
}

Json json_of(const ParcelNews& news) {
  Json json{{"number", news.number}, {"event", name_of(news.event)}};
  if (news.event == ParcelEvent::cut_off) {
    json["id"] = news.head.id;
    json["turn"] = news.head.turn;
  }
  return json;
}

ParcelEvent read_event(JsonObject& object, const char* key) {
  const std::string name = object.text(key);
  const auto* const known =
      std::ranges::find_if(kEvents, [&](ParcelEvent event) { return name == name_of(event); });
  if (known != kEvents.end()) return *known;
  object.fail(concat("no event '", name.substr(0, 40), "'"));
  return ParcelEvent::confirmed;
}

Result<ParcelNews> read_news(const Json& json) {
  JsonObject object(json, "keeper: told");
  ParcelNews news{.number = read_number(object, "number")};
  news.event = read_event(object, "event");
  if (news.event == ParcelEvent::cut_off) news.head = read_head(object);
  AQUA_TRY(object.finish());
  return news;
}

Result<Parcel> read_whole_parcel(const Json& json) {
  JsonObject object(json, "keeper: parcels");
  Parcel parcel = read_parcel(object);
  AQUA_TRY(object.finish());
  return parcel;
}

std::size_t packet_bytes(const Parcel& parcel) {
  constexpr std::size_t kAround = 256;  // keys, brackets and numbers
  std::size_t bytes = kAround + 2 * (parcel.id.size() + parcel.from.size()) +
                      2 * parcel.note.size();  // with escapes
  if (parcel.segment.number != 0) bytes += segment_wire::kNameBytes;
  for_each_run(parcel.blocks, [&](std::uint32_t first, std::size_t count) {
    bytes += digits(first) + digits(count) + 2;
  });
  return bytes;
}

std::size_t packet_bytes(const ParcelNews& news) {
  constexpr std::size_t kAround = 128;
  return kAround + 2 * news.head.id.size();
}

Result<void> check_bytes(const Parcel& parcel) {
  const std::size_t bytes = packet_bytes(parcel);
  if (bytes <= kMostParcelBytes) return {};
  return Error{Code::invalid_argument,
               concat("parcel ", parcel.id.substr(0, 40), ": its ", parcel.blocks.size(),
                      " blocks are so scattered that it takes ", bytes,
                      " bytes to name them, of at most ", kMostParcelBytes)};
}

}  // namespace aqua::pool_wire
