// SPDX-License-Identifier: Apache-2.0
// How a message gets its encode() and decode(): write() and read() for its fields, then
//   AQUA_WIRE_MESSAGE(OfferRequest, kMaxRequestBytes)
// in the same .cpp, inside aqua::wire. A message with an encode() of its own has AQUA_WIRE_DECODE
// instead. Inside this room only.
#pragma once

#include "base/try.hpp"
#include "wire/codec.hpp"
#include "wire/json/fields.hpp"

namespace aqua::wire {

// The error part of a reply; in error.cpp.
void write_error(Json& out, const Error& error);
void read_error(Fields& in, Error& error);

}  // namespace aqua::wire

#define AQUA_WIRE_MESSAGE(Message, max_bytes)                             \
  template <>                                                             \
  std::string encode<Message>(const Message& message, ledger::Time now) { \
    Json out = Json::object();                                            \
    write(out, message, now);                                             \
    return dump(out);                                                     \
  }                                                                       \
  AQUA_WIRE_DECODE(Message, max_bytes)

#define AQUA_WIRE_DECODE(Message, max_bytes)                                 \
  template <>                                                                \
  Result<Message> decode<Message>(std::string_view body, ledger::Time now) { \
    AQUA_ASSIGN(const Json value, parse_object(body, max_bytes));            \
    Fields::Fault fault;                                                     \
    const std::string path;                                                  \
    Fields fields(value, path, fault);                                       \
    Message message;                                                         \
    read(fields, message, now);                                              \
    if (fault) return *std::move(fault);                                     \
    return message;                                                          \
  }
