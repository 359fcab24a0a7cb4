// SPDX-License-Identifier: Apache-2.0
#include "wire/state.hpp"

#include "wire/limits.hpp"
#include "wire/message.hpp"
#include "wire/rows.hpp"

namespace aqua::wire {

using ledger::Time;

void write_row(Json& out, const Pair& pair, Time) {
  out["producer"] = to_string(pair.producer);
  out["consumer"] = to_string(pair.consumer);
}
void read_row(Fields& in, Pair& pair, Time) {
  in.id("producer", pair.producer);
  in.id("consumer", pair.consumer);
}

namespace {

void write(Json& out, const PairRequest& request, Time now) {
  write_row(out, request.pair, now);
}
void read(Fields& in, PairRequest& request, Time now) {
  read_row(in, request.pair, now);
}

void write(Json& out, const Pairs& pairs, Time now) {
  out["epoch"] = to_string(pairs.epoch);
  write_rows(out, "pairs", pairs.pairs, now);
}
void read(Fields& in, Pairs& pairs, Time now) {
  in.id("epoch", pairs.epoch);
  read_rows(in, "pairs", pairs.pairs, kMaxRows, now);
}

// ,"name":[{...},...], a row at a time: a tree of all would take many times the memory of the text.
template <typename Rows>
void append_rows(std::string& out, const char* name, const Rows& rows, Time now) {
  out += concat(",\"", name, "\":[");
  for (const auto& row : rows) {
    if (out.back() != '[') out += ',';
    Json one = Json::object();
    write_row(one, row, now);
    out += dump(one);
  }
  out += ']';
}
void read(Fields& in, State& state, Time now) {
  in.id("epoch", state.epoch);
  in.number("last_event", state.last_event);
  read_rows(in, "clients", state.clients, kMaxRows, now);
  read_rows(in, "slabs", state.slabs, kMaxRows, now);
  read_rows(in, "pairs", state.pairs, kMaxRows, now);
  read_rows(in, "reclaims", state.reclaims, kMaxRows, now);
}

}  // namespace

AQUA_WIRE_MESSAGE(PairRequest, kMaxRequestBytes)
AQUA_WIRE_MESSAGE(Pairs, kMaxReplyBytes)

template <>
std::string encode<State>(const State& state, Time now) {
  std::string out =
      concat("{\"epoch\":\"", to_string(state.epoch), "\",\"last_event\":", state.last_event);
  append_rows(out, "clients", state.clients, now);
  append_rows(out, "slabs", state.slabs, now);
  append_rows(out, "pairs", state.pairs, now);
  append_rows(out, "reclaims", state.reclaims, now);
  return out + '}';
}
AQUA_WIRE_DECODE(State, kMaxReplyBytes)

}  // namespace aqua::wire
