// SPDX-License-Identifier: Apache-2.0
#include "wire/slabs.hpp"

#include "wire/limits.hpp"
#include "wire/message.hpp"
#include "wire/names.hpp"
#include "wire/rows.hpp"

namespace aqua::wire {

using ledger::Time;

void write_row(Json& out, const Return& lease, Time now) {
  write_row(out, lease.slab, now);
  out["generation"] = lease.generation;
}
void read_row(Fields& in, Return& lease, Time now) {
  read_row(in, lease.slab, now);
  in.number("generation", lease.generation, 1);
}

namespace {

// A result is the new state (or nothing, where there is none to tell), or the error.
void write_result(Json& out, const Result<ledger::SlabState>& result) {
  if (result.ok()) {
    out["state"] = to_string(*result);
  } else {
    write_error(out, result.error());
  }
}
void read_result(Fields& in, Result<ledger::SlabState>& result) {
  if (in.has("code")) {
    Error error;
    read_error(in, error);
    result = std::move(error);
  } else {
    ledger::SlabState state{};
    in.named("state", state, parse_slab_state);
    result = state;
  }
}
void write_result(Json& out, const Result<void>& result) {
  if (!result.ok()) write_error(out, result.error());
}
void read_result(Fields& in, Result<void>& result) {
  result = {};
  if (!in.has("code")) return;
  Error error;
  read_error(in, error);
  result = std::move(error);
}

template <typename T>
void write_results(Json& out, const std::vector<Result<T>>& results) {
  Json& array = out["results"] = Json::array();
  for (const Result<T>& result : results) write_result(array.emplace_back(Json::object()), result);
}
template <typename T>
void read_results(Fields& in, std::vector<Result<T>>& results) {
  in.objects(
      "results", results, kMaxBatch,
      [](Fields& fields, Result<T>& result) { read_result(fields, result); }, Result<T>(Error{}));
}

void write(Json& out, const OfferRequest& request, Time now) {
  write_rows(out, "slabs", request.slabs, now);
}
void read(Fields& in, OfferRequest& request, Time now) {
  read_rows(in, "slabs", request.slabs, kMaxBatch, now);
}

void write(Json& out, const WithdrawRequest& request, Time) {
  out["indexes"] = request.indexes;
}
void read(Fields& in, WithdrawRequest& request, Time) {
  in.numbers("indexes", request.indexes, kMaxBatch);
}

void write(Json& out, const ScrubbedRequest& request, Time now) {
  write_rows(out, "slabs", request.slabs, now);
}
void read(Fields& in, ScrubbedRequest& request, Time now) {
  read_rows(in, "slabs", request.slabs, kMaxBatch, now);
}

void write(Json& out, const ScrubbedReply& reply, Time) {
  out["epoch"] = to_string(reply.epoch);
  write_results(out, reply.results);
}
void read(Fields& in, ScrubbedReply& reply, Time) {
  in.id("epoch", reply.epoch);
  read_results(in, reply.results);
}

void write(Json& out, const ReclaimRequest& request, Time) {
  out["bytes"] = request.bytes;
  write_duration(out, "within_ms", request.within);
}
void read(Fields& in, ReclaimRequest& request, Time) {
  in.number("bytes", request.bytes, 1);
  read_duration(in, "within_ms", request.within);
}

void write(Json& out, const ReclaimReply& reply, Time now) {
  out["epoch"] = to_string(reply.epoch);
  write_row(out["reclaim"] = Json::object(), reply.reclaim, now);
  write_rows(out, "withdrawn", reply.withdrawn, now);
}
void read(Fields& in, ReclaimReply& reply, Time now) {
  in.id("epoch", reply.epoch);
  in.object("reclaim", reply.reclaim,
            [now](Fields& fields, ledger::Reclaim& reclaim) { read_row(fields, reclaim, now); });
  read_rows(in, "withdrawn", reply.withdrawn, kMaxRows, now);
}

void write(Json& out, const LeaseRequest& request, Time) {
  out["bytes"] = request.bytes;
  out["exit_bytes"] = request.exit_bytes;
}
void read(Fields& in, LeaseRequest& request, Time) {
  in.number("bytes", request.bytes, 1);
  in.number("exit_bytes", request.exit_bytes);
}

void write(Json& out, const LeaseReply& reply, Time now) {
  out["epoch"] = to_string(reply.epoch);
  write_rows(out, "grants", reply.grants, now);
}
void read(Fields& in, LeaseReply& reply, Time now) {
  in.id("epoch", reply.epoch);
  read_rows(in, "grants", reply.grants, kMaxRows, now);
}

void write(Json& out, const ReturnRequest& request, Time now) {
  write_rows(out, "leases", request.leases, now);
}
void read(Fields& in, ReturnRequest& request, Time now) {
  read_rows(in, "leases", request.leases, kMaxBatch, now);
}

void write(Json& out, const ReturnReply& reply, Time) {
  out["epoch"] = to_string(reply.epoch);
  write_results(out, reply.results);
}
void read(Fields& in, ReturnReply& reply, Time) {
  in.id("epoch", reply.epoch);
  read_results(in, reply.results);
}

}  // namespace

AQUA_WIRE_MESSAGE(OfferRequest, kMaxRequestBytes)
AQUA_WIRE_MESSAGE(WithdrawRequest, kMaxRequestBytes)
AQUA_WIRE_MESSAGE(ScrubbedRequest, kMaxRequestBytes)
AQUA_WIRE_MESSAGE(ScrubbedReply, kMaxReplyBytes)
AQUA_WIRE_MESSAGE(ReclaimRequest, kMaxRequestBytes)
AQUA_WIRE_MESSAGE(ReclaimReply, kMaxReplyBytes)
AQUA_WIRE_MESSAGE(LeaseRequest, kMaxRequestBytes)
AQUA_WIRE_MESSAGE(LeaseReply, kMaxReplyBytes)
AQUA_WIRE_MESSAGE(ReturnRequest, kMaxRequestBytes)
AQUA_WIRE_MESSAGE(ReturnReply, kMaxReplyBytes)

}  // namespace aqua::wire
