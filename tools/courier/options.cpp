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
#include "tools/courier/mirror/mirror_sender.hpp"
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

std::string read_peer(JsonObject& object) {
  std::string peer = object.text("peer");
  if (peer.empty() || is_address(peer)) {
    object.fail("peer is the DNS name in the other's certificate");
  }
  return peer;
}

// Over which carrier bytes may go. UCX is for networks that are said to be trusted.
CarrierChoice read_carrier(JsonObject& object) {
  const bool trusted = object.flag_or("trusted_network", false);
  const std::string carrier = object.text_or("carrier", trusted ? "auto" : "tls");
  if (carrier == "tls") return CarrierChoice::tls;
  if (carrier != "auto" && carrier != "ucx") {
    object.fail("carrier is not tls, auto or ucx");
  } else if (!trusted) {
    object.fail(concat("carrier: by ", carrier,
                       " bytes may cross unencrypted: say trusted_network, or tls"));
  }
  return carrier == "ucx" ? CarrierChoice::ucx : CarrierChoice::automatic;
}

Result<PeerListenerOptions> read_listener(const Json& json) {
  JsonObject object(json, "listen");
  PeerListenerOptions listener{.address = read_address(object),
                               .peers = read_names(object, "peers")};
  if (listener.peers.empty()) object.fail("peers: nobody may connect");
  for (const std::string& peer : listener.peers) {
    if (is_address(peer)) object.fail(concat("peers: ", peer, " is no DNS name of a certificate"));
  }
  if (object.has("pools")) listener.pools = read_names(object, "pools");
  listener.copies = object.flag_or("copies", false);
  if (object.has("connections")) {
    listener.connections = object.count("connections", 1, kMostConnections);
  }
  AQUA_TRY(object.finish());
  return listener;
}

Result<Route> read_route(const Json& json, std::size_t number) {
  JsonObject object(json, concat("carry[", number, "]"));
  Route route{.pool = read_name(object, "pool"), .from = read_name(object, "from")};
  route.to = read_name(object, "to");
  route.peer = read_peer(object);
  route.address = read_address(object);
  if (object.has("parcels")) route.parcels = object.count("parcels", 1, kMostParcels);
  if (object.has("connections")) {
    route.connections = object.count("connections", 1, kMostConnections);
  }
  AQUA_TRY(object.finish());
  return route;
}

Result<void> read_routes(const Json& list, std::vector<Route>& routes) {
  for (const Json& one : list) {
    AQUA_ASSIGN(Route route, read_route(one, routes.size()));
    const bool twice = std::ranges::any_of(routes, [&](const Route& other) {
      return other.pool == route.pool && other.from == route.from && other.to == route.to &&
             other.peer == route.peer;
    });
    if (twice) {
      return Error{Code::invalid_argument,
                   concat("carry: what goes to ", route.peer, " is there twice: say connections")};
    }
    routes.push_back(std::move(route));
  }
  return {};
}

Result<void> read_mirrors(const Json& list, std::vector<Mirror>& mirrors) {
  for (const Json& one : list) {
    JsonObject object(one, concat("mirror[", mirrors.size(), "]"));
    Mirror mirror{.peer = read_peer(object), .address = read_address(object)};
    AQUA_TRY(object.finish());
    if (std::ranges::find(mirrors, mirror.peer, &Mirror::peer) != mirrors.end()) {
      return Error{Code::invalid_argument, concat("mirror: ", mirror.peer, " is there twice")};
    }
    mirrors.push_back(std::move(mirror));
  }
  return {};
}

// nullptr: there is none.
const Json* take_list(JsonObject& object, const char* key) {
  const Json* const list = object.has(key) ? object.take(key) : nullptr;
  if (list != nullptr && !list->is_array()) object.fail(concat(key, " is not a list"));
  return list;
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
  options.carrier = read_carrier(object);
  const Json* const listen = object.has("listen") ? object.take("listen") : nullptr;
  const Json* const carry = take_list(object, "carry");
  const Json* const mirror = take_list(object, "mirror");
  AQUA_TRY(object.finish());
  if (listen == nullptr && carry == nullptr && mirror == nullptr) {
    return Error{Code::invalid_argument,
                 "courier: neither listen nor carry nor mirror: nothing to do"};
  }
  std::size_t connections = 0;
  if (listen != nullptr) {
    AQUA_ASSIGN(options.listener, read_listener(*listen));
    options.listener.patience = patience;
    options.listener.carrier = options.carrier;
    connections += options.listener.connections;
  }
  if (carry != nullptr) AQUA_TRY(read_routes(*carry, options.routes));
  for (Route& route : options.routes) {
    route.patience = patience;
    route.carrier = options.carrier;
    connections += route.connections;
  }
  if (mirror != nullptr) AQUA_TRY(read_mirrors(*mirror, options.mirrors));
  for (Mirror& one : options.mirrors) {
    one.patience = patience;
    one.carrier = options.carrier;
    ++connections;
  }
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
