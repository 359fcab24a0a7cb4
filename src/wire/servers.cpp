// SPDX-License-Identifier: Apache-2.0
#include "wire/servers.hpp"

#include "wire/limits.hpp"
#include "wire/message.hpp"
#include "wire/rows.hpp"

namespace aqua::wire {
namespace {

constexpr std::size_t kMaxAddress = 300;

}  // namespace

void write_row(Json& out, const Server& server, ledger::Time) {
  out["name"] = server.name;
  out["host"] = server.host;
  out["version"] = server.version;
  out["coordinator"] = server.coordinator;
  out["owner"] = to_string(server.owner);
  out["clients"] = server.clients;
  out["groups"] = server.groups;
  out["lent_bytes"] = server.lent_bytes;
  out["held_bytes"] = server.held_bytes;
}
void read_row(Fields& in, Server& server, ledger::Time) {
  in.text("name", server.name);
  in.text("host", server.host);
  in.text("version", server.version);
  in.text("coordinator", server.coordinator, kMaxAddress);
  in.id("owner", server.owner);
  in.number("clients", server.clients);
  in.number("groups", server.groups);
  in.number("lent_bytes", server.lent_bytes);
  in.number("held_bytes", server.held_bytes);
}

namespace {

void write(Json& out, const Server& server, ledger::Time now) {
  write_row(out, server, now);
}
void read(Fields& in, Server& server, ledger::Time now) {
  read_row(in, server, now);
}

void write(Json& out, const Servers& all, ledger::Time now) {
  out["epoch"] = to_string(all.epoch);
  out["self"] = all.self;
  out["shared"] = all.shared;
  out["fault"] = all.fault;
  if (all.age) out["age_ms"] = static_cast<std::uint64_t>(all.age->count());
  write_rows(out, "servers", all.servers, now);
}
void read(Fields& in, Servers& all, ledger::Time now) {
  in.id("epoch", all.epoch);
  in.text("self", all.self);
  in.flag("shared", all.shared);
  in.prose("fault", all.fault);
  if (in.has("age_ms")) {
    std::uint64_t age = 0;
    in.number("age_ms", age, 0, kMaxDistanceMs);
    all.age = ledger::Time{static_cast<ledger::Time::rep>(age)};
  }
  read_rows(in, "servers", all.servers, kMaxRows, now);
}

}  // namespace

AQUA_WIRE_MESSAGE(Server, kMaxRequestBytes)
AQUA_WIRE_MESSAGE(Servers, kMaxReplyBytes)

// Nobody of ours reads it.
template <>
std::string encode<Ready>(const Ready& ready, ledger::Time) {
  return dump({{"epoch", to_string(ready.epoch)}, {"warnings", ready.warnings}});
}

}  // namespace aqua::wire
