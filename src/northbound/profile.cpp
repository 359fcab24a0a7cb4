// SPDX-License-Identifier: Apache-2.0
#include "aqua/northbound/profile.hpp"

#include "base/concat.hpp"
#include "base/read_file.hpp"
#include "base/shallow_json.hpp"
#include "base/try.hpp"
#include "northbound/profile_fields.hpp"

// Reading refuses what a runtime could not act on: unknown keys, numbers out of range, and roles
// that contradict the bytes. What is in "evidence" is for people and is not read.
namespace aqua {
namespace profile {
namespace {

constexpr int kDeepest = 16;
constexpr double kMostRequests = 1e9;

Error bad(std::string_view what) {
  return Error{Code::invalid_argument, concat("profile: ", what)};
}

std::size_t bytes(JsonObject& object, const char* key) {
  const double value = object.number(key, 0, kMostBytes);
  if (value != std::floor(value)) object.fail(concat(key, " is not whole"));
  return static_cast<std::size_t>(value);
}

ProfileRole role(JsonObject& object) {
  const std::string name = object.text("role");
  for (const auto known : {ProfileRole::producer, ProfileRole::consumer, ProfileRole::neutral}) {
    if (name == to_string(known)) return known;
  }
  object.fail("role is not producer, consumer or neutral");
  return ProfileRole::neutral;
}

void check(JsonObject& object, const Profile& found) {
  if (found.free_bytes > found.kv_bytes) object.fail("free_bytes is more than kv_bytes");
  if (found.role == ProfileRole::producer && found.free_bytes < found.threshold_bytes)
    object.fail("a producer with less than threshold_bytes free");
  if (found.role == ProfileRole::consumer && found.swap_bytes == 0)
    object.fail("a consumer without swap_bytes");
}

}  // namespace

Result<nlohmann::json> parse_json(std::string_view text) {
  if (text.size() > kMaxProfileText)
    return bad(concat("is longer than ", kMaxProfileText, " bytes"));
  auto value = parse_shallow(text, kDeepest);
  if (!value.is_object()) return bad("is not a JSON object");
  return value;
}

Profile read_fields(JsonObject& object) {
  Profile found;
  const double version = object.number("version", 0, 1e9);
  if (version != kVersion)
    object.fail(concat("version ", version, " is not known here, ", kVersion, " is"));
  if (object.text("kind") != "aqua-profile") object.fail("kind is not aqua-profile");
  found.role = role(object);
  found.max_rps = object.number("max_rps", 0, kMostRequests);
  found.queue_length = object.number("queue_length", 0, kMostRequests);
  found.kv_bytes = bytes(object, "kv_bytes");
  found.free_bytes = bytes(object, "free_bytes");
  found.swap_bytes = bytes(object, "swap_bytes");
  found.threshold_bytes = bytes(object, "threshold_bytes");
  if (!object.has("complete")) object.fail("complete is missing");
  found.complete = object.flag_or("complete", false);
  check(object, found);
  return found;
}

void write_fields(nlohmann::ordered_json& object, const Profile& profile) {
  object["version"] = kVersion;
  object["kind"] = "aqua-profile";
  object["role"] = to_string(profile.role);
  object["max_rps"] = profile.max_rps;
  object["queue_length"] = profile.queue_length;
  object["kv_bytes"] = profile.kv_bytes;
  object["free_bytes"] = profile.free_bytes;
  object["swap_bytes"] = profile.swap_bytes;
  object["threshold_bytes"] = profile.threshold_bytes;
  object["complete"] = profile.complete;
}

}  // namespace profile

Result<Profile> parse_profile(std::string_view json) {
  AQUA_ASSIGN(const auto value, profile::parse_json(json));
  JsonObject object(value, "profile");
  const Profile found = profile::read_fields(object);
  if (object.has("evidence")) (void)object.take("evidence");
  AQUA_TRY(object.finish());
  return found;
}

Result<Profile> read_profile(const std::string& path) {
  const auto text = read_file(path, kMaxProfileText);
  if (!text.ok()) {
    const bool too_long = text.error().code == Code::resource_exhausted;
    return Error{too_long ? Code::invalid_argument : Code::not_found,
                 concat("profile: ", text.error().message)};
  }
  auto found = parse_profile(*text);
  if (!found.ok()) return Error{found.error().code, concat(path, ": ", found.error().message)};
  return found;
}

}  // namespace aqua
