// SPDX-License-Identifier: Apache-2.0
#include "wire/error.hpp"

#include "wire/limits.hpp"
#include "wire/message.hpp"

namespace aqua::wire {

namespace {

// At most kMaxMessage bytes, cut between characters.
std::string cut(const std::string& message) {
  if (message.size() <= kMaxMessage) return message;
  std::size_t end = kMaxMessage;
  while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xc0) == 0x80) --end;
  return message.substr(0, end);
}

}  // namespace

void write_error(Json& out, const Error& error) {
  out["code"] = to_string(error.code);
  out["message"] = cut(error.message);
}

void read_error(Fields& in, Error& error) {
  in.named("code", error.code, parse_code);
  in.prose("message", error.message, 3 * kMaxMessage);  // mended bytes take three
}

namespace {

void write(Json& out, const ErrorReply& reply, ledger::Time) {
  write_error(out, reply.error);
  out["epoch"] = to_string(reply.epoch);
}
void read(Fields& in, ErrorReply& reply, ledger::Time) {
  read_error(in, reply.error);
  in.id("epoch", reply.epoch);
}

}  // namespace

AQUA_WIRE_MESSAGE(ErrorReply, kMaxRequestBytes)

}  // namespace aqua::wire
