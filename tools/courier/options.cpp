// SPDX-License-Identifier: Apache-2.0
#include "tools/courier/options.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/concat.hpp"
#include "base/json_object.hpp"
#include "base/keeper/limits.hpp"
#include "base/read_file.hpp"
#include "base/shallow_json.hpp"
#include "base/text/plain_name.hpp"
#include "base/try.hpp"
#include "tools/courier/net/link.hpp"
#include "tools/courier/net/sockets.hpp"

namespace aqua::courier {
namespace {

using Json = nlohmann::json;

constexpr std::uint32_t kMostParcels = 1024;
// In all, in either direction: each is a member of a pool, and a keeper has 64 of one process.
constexpr std::uint32_t kMostConnections = 64;
constexpr std::uint32_t kLongestPatience = 3600;  // seconds

std::string read_name(JsonObject& object, const char* key) {
  std::string name = object.text(key);
  if (name.empty() || name.size() > keeper_wire::kLongestName || !is_plain(name)) {
    object.fail(
        concat(key, " is not 1 to ", keeper_wire::kLongestName, " bytes of printable ASCII"));
  }
  return name;
}

bool is_address(const std::string& name) {
  in6_addr any{};  // of either family
  return ::inet_pton(AF_INET, name.c_str(), &any) == 1 ||
         ::inet_pton(AF_INET6, name.c_str(), &any) == 1;
}

std::string read_address(JsonObject& object, const char* key = "address") {
  std::string address = object.text(key);
  if (!parse_address(address).ok()) object.fail(concat(key, " is not HOST:PORT"));
  return address;
}

std::vector<std::string> read_names(JsonObject& object, const char* key) {
  std::vector<std::string> names;
  const Json* const list = object.take(key);
  bool good = list != nullptr && list->is_array();
  for (std::size_t i = 0; good && i < list->size(); ++i) {
    good = (*list)[i].is_string() && !(*list)[i].get<std::string>().empty();
    if (good) names.push_back((*list)[i].get<std::string>());
  }
  if (!good) object.fail(concat(key, " is not a list of names"));
  return names;
}

Result<DoorOptions> read_door(const Json& json) {
  JsonObject object(json, "listen");
  DoorOptions door{.address = read_address(object), .peers = read_names(object, "peers")};
  if (door.peers.empty()) object.fail("peers: nobody may connect");
  for (const std::string& peer : door.peers) {
    if (is_address(peer)) object.fail(concat("peers: ", peer, " is no DNS name of a certificate"));
  }
  if (object.has("pools")) door.pools = read_names(object, "pools");
  if (object.has("connections")) {
    door.connections = object.count("connections", 1, kMostConnections);
  }
  AQUA_TRY(object.finish());
  return door;
}

Result<Route> read_route(const Json& json, std::size_t number) {
  JsonObject object(json, concat("carry[", number, "]"));
  Route route{.pool = read_name(object, "pool"), .from = read_name(object, "from")};
  route.to = read_name(object, "to");
  route.peer = object.text("peer");
  if (route.peer.empty()) object.fail("peer is the name in the other's certificate");
  route.address = read_address(object);
  if (object.has("parcels")) route.parcels = object.count("parcels", 1, kMostParcels);
  if (object.has("connections")) {
    route.connections = object.count("connections", 1, kMostConnections);
  }
  AQUA_TRY(object.finish());
  return route;
}

// Where text that is no JSON stops being any, or which number has no double.
std::string syntax_error(std::string_view text) {
  try {
    [[maybe_unused]] const Json parsed = Json::parse(text);
  } catch (const Json::exception& error) {
    return error.what();
  }
  return "nested too deeply";
}

}  // namespace

Result<CourierOptions> parse_options(std::string_view text) {
  const Json json = parse_shallow(text, keeper_wire::kDeepest);
  if (json.is_discarded()) {
    return Error{Code::invalid_argument, concat("not JSON: ", syntax_error(text))};
  }
  JsonObject object(json, "courier");
  CourierOptions options{.keeper = object.text_or("keeper", "")};
  options.files.identity = {object.text("certificate"), object.text("key")};
  options.files.authority = object.text("authority");
  if (object.has("metrics")) options.metrics = read_address(object, "metrics");
  std::chrono::seconds patience = Link::kPatience;
  if (object.has("patience")) {
    patience = std::chrono::seconds(object.count("patience", 1, kLongestPatience));
  }
  const Json* const listen = object.has("listen") ? object.take("listen") : nullptr;
  const Json* const carry = object.has("carry") ? object.take("carry") : nullptr;
  if (carry != nullptr && !carry->is_array()) object.fail("carry is not a list");
  AQUA_TRY(object.finish());
  if (listen == nullptr && carry == nullptr) {
    return Error{Code::invalid_argument, "courier: neither listen nor carry: nothing to do"};
  }
  if (listen != nullptr) {
    AQUA_ASSIGN(options.door, read_door(*listen));
    options.door.patience = patience;
  }
  if (carry == nullptr) return options;
  for (const Json& one : *carry) {
    AQUA_ASSIGN(Route route, read_route(one, options.routes.size()));
    const bool twice = std::ranges::any_of(options.routes, [&](const Route& other) {
      return other.pool == route.pool && other.from == route.from && other.to == route.to &&
             other.peer == route.peer;
    });
    if (twice) {
      return Error{Code::invalid_argument,
                   concat("carry: what goes to ", route.peer, " is there twice: say connections")};
    }
    route.patience = patience;
    options.routes.push_back(std::move(route));
  }
  std::size_t connections = listen == nullptr ? 0 : options.door.connections;
  for (const Route& route : options.routes) connections += route.connections;
  if (connections > kMostConnections) {
    return Error{Code::invalid_argument,
                 concat("courier: ", connections,
                        " connections, those of listen counted, of at most ", kMostConnections)};
  }
  return options;
}

Result<CourierOptions> read_options(const std::string& path) {
  AQUA_ASSIGN(const std::string text, read_file(path));
  auto options = parse_options(text);
  if (!options.ok()) {
    return Error{options.error().code, concat(path, ": ", options.error().message)};
  }
  const std::filesystem::path beside = std::filesystem::path(path).parent_path();
  MutualTlsFiles& files = options->files;
  for (std::string* file : {&files.identity.certificate, &files.identity.key, &files.authority}) {
    *file = beside / *file;  // an absolute one stays what it is
  }
  return options;
}

}  // namespace aqua::courier
