// SPDX-License-Identifier: Apache-2.0
#include "wire/clients.hpp"

#include "wire/limits.hpp"
#include "wire/message.hpp"
#include "wire/rows.hpp"

namespace aqua::wire {
namespace {

using ledger::Time;

void write(Json& out, const Hello& hello, Time) {
  out["version"] = hello.version;
  out["client"] = to_string(hello.client);
}
void read(Fields& in, Hello& hello, Time) {
  in.number("version", hello.version);
  in.id("client", hello.client);
  if (hello.client.is_nil()) in.fail("client", "is nil");
}

void write(Json& out, const Welcome& welcome, Time) {
  out["epoch"] = to_string(welcome.epoch);
  out["secret"] = to_string(welcome.secret);
  out["server"] = welcome.server;
  write_duration(out, "client_ttl_ms", welcome.client_ttl);
}
void read(Fields& in, Welcome& welcome, Time) {
  in.id("epoch", welcome.epoch);
  in.id("secret", welcome.secret);
  in.text("server", welcome.server);
  read_duration(in, "client_ttl_ms", welcome.client_ttl);
}

void write(Json& out, const Info& info, Time) {
  out["epoch"] = to_string(info.epoch);
  out["version"] = info.version;
  out["server"] = info.server;
  out["host"] = info.host;
  out["lifeline"] = info.lifeline;
  write_duration(out, "client_ttl_ms", info.client_ttl);
  write_duration(out, "lease_ttl_ms", info.lease_ttl);
}
void read(Fields& in, Info& info, Time) {
  in.id("epoch", info.epoch);
  in.text("version", info.version);
  in.text("server", info.server);
  if (in.has("host")) in.text("host", info.host);
  in.text("lifeline", info.lifeline, kMaxPath);
  read_duration(in, "client_ttl_ms", info.client_ttl);
  read_duration(in, "lease_ttl_ms", info.lease_ttl);
}

void write(Json& out, const JoinRequest& request, Time now) {
  write_row(out, request.info, now);
}
void read(Fields& in, JoinRequest& request, Time now) {
  read_row(in, request.info, now);
  if (request.info.id.is_nil()) in.fail("id", "is nil");
}

void write(Json& out, const RenewReply& reply, Time) {
  out["epoch"] = to_string(reply.epoch);
  write_duration(out, "client_ttl_ms", reply.client_ttl);
  write_duration(out, "lease_ttl_ms", reply.lease_ttl);
}
void read(Fields& in, RenewReply& reply, Time) {
  in.id("epoch", reply.epoch);
  read_duration(in, "client_ttl_ms", reply.client_ttl);
  read_duration(in, "lease_ttl_ms", reply.lease_ttl);
}

void write(Json& out, const Ack& ack, Time) {
  out["epoch"] = to_string(ack.epoch);
}
void read(Fields& in, Ack& ack, Time) {
  in.id("epoch", ack.epoch);
}

}  // namespace

AQUA_WIRE_MESSAGE(Hello, kMaxHelloBytes)
AQUA_WIRE_MESSAGE(Welcome, kMaxHelloBytes)
AQUA_WIRE_MESSAGE(Info, kMaxRequestBytes)
AQUA_WIRE_MESSAGE(JoinRequest, kMaxRequestBytes)
AQUA_WIRE_MESSAGE(RenewReply, kMaxRequestBytes)
AQUA_WIRE_MESSAGE(Ack, kMaxRequestBytes)

}  // namespace aqua::wire
