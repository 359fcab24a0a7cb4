// SPDX-License-Identifier: Apache-2.0
#include "parcel/segment_json.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "base/concat.hpp"
#include "base/json_object.hpp"
#include "base/keeper/packets.hpp"
#include "base/text/hex.hpp"
#include "base/text/plain_name.hpp"
#include "base/try.hpp"

namespace aqua::segment_wire {

using Json = nlohmann::json;

constexpr std::size_t kLongestServer = 253;  // a DNS name's

Json json_of(const SegmentName& name) {
  return {{"number", name.number},
          {"generation", name.generation},
          {"bytes", name.bytes},
          {"digest", to_hex(name.digest)}};
}

Json json_of(const SegmentOrigin& origin) {
  return {{"server", origin.server},
          {"keeper", origin.keeper},
          {"number", origin.number},
          {"generation", origin.generation}};
}

std::optional<SegmentOrigin> read_origin(JsonObject& object) {
  const Json* const json = object.has("copy_of") ? object.take("copy_of") : nullptr;
  if (json == nullptr) return std::nullopt;
  JsonObject inner(*json, "copy_of");
  SegmentOrigin origin{.server = inner.text("server")};
  origin.keeper = keeper_wire::read_number(inner, "keeper");
  origin.number = keeper_wire::read_number(inner, "number");
  origin.generation = keeper_wire::read_number(inner, "generation");
  if (origin.server.empty() || origin.server.size() > kLongestServer || !is_plain(origin.server)) {
    inner.fail(concat("server is not 1 to ", kLongestServer, " bytes of printable ASCII"));
  }
  if (const auto whole = inner.finish(); !whole.ok()) object.fail(whole.error().message);
  return origin;
}

std::uint64_t read_size(JsonObject& object, const char* key) {
  const Json* const bytes = object.take(key);
  return bytes == nullptr ? 0 : keeper_wire::read_bytes(object, *bytes);
}

SegmentDigest read_digest(JsonObject& object) {
  const std::string text = object.text("digest");
  SegmentDigest digest{};
  bool good = text.size() == 2 * digest.size();
  for (std::size_t i = 0; good && i < digest.size(); ++i) {
    const int high = hex_value(text[2 * i]);
    const int low = hex_value(text[2 * i + 1]);
    good = high >= 0 && low >= 0;
    if (good) digest[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  if (!good) object.fail("digest is not of 32 hexadecimal digits");
  return digest;
}

SegmentName read_name(JsonObject& object) {
  SegmentName name{.number = keeper_wire::read_number(object, "number")};
  name.generation = keeper_wire::read_number(object, "generation");
  name.bytes = read_size(object, "bytes");
  name.digest = read_digest(object);
  return name;
}

namespace {

// The sums of a tier, by the keys that they have.
template <typename Tier, typename Visit>
void each_sum(Tier& disk, const Visit& visit) {
  visit("durable", disk.durable);
  visit("pending", disk.pending);
  visit("memory_only", disk.memory_only);
  visit("left", disk.left);
}

}  // namespace

Json json_of(const SegmentDisk& disk) {
  Json json{{"directory", disk.directory},
            {"error", disk.error},
            {"writes", disk.writes},
            {"quota_bytes", disk.quota_bytes},
            {"file_bytes", disk.file_bytes}};
  each_sum(disk, [&](const char* key, const SegmentSum& sum) {
    json[key] = {{"segments", sum.segments}, {"bytes", sum.bytes}};
  });
  return json;
}

Result<SegmentDisk> read_disk(const Json& json) {
  JsonObject object(json, "keeper: disk");
  SegmentDisk disk{.directory = object.text("directory"), .error = object.text("error")};
  disk.writes = object.flag_or("writes", false);
  disk.quota_bytes = read_size(object, "quota_bytes");
  disk.file_bytes = read_size(object, "file_bytes");
  each_sum(disk, [&](const char* key, SegmentSum& sum) {
    const Json* const found = object.take(key);
    if (found == nullptr) return;
    JsonObject inner(*found, concat("keeper: ", key));
    sum.segments = keeper_wire::read_number(inner, "segments");
    sum.bytes = read_size(inner, "bytes");
    if (const auto read = inner.finish(); !read.ok()) object.fail(read.error().message);
  });
  AQUA_TRY(object.finish());
  return disk;
}

}  // namespace aqua::segment_wire
