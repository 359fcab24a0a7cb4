#include "wire/error.hpp"

#include "wire/limits.hpp"
#include "wire/message.hpp"

namespace aqua::wire {

void write_error(Json& out, const Error& error) {
  out["code"] = to_string(error.code);
  out["message"] = error.message.substr(0, kMaxMessage);
}

void read_error(Fields& in, Error& error) {
  in.named("code", error.code, parse_code);
  in.prose("message", error.message, 2 * kMaxMessage);  // mended UTF-8 may have grown
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
