// SPDX-License-Identifier: Apache-2.0
#include "coordinator/store/sqlite_rows.hpp"

#include <algorithm>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "ledger/transition.hpp"

namespace aqua::coordinator::rows {

using ledger::ClientInfo;
using ledger::ClientRow;
using ledger::Pair;
using ledger::Reclaim;
using ledger::Slab;
using ledger::SlabState;

const char* const kPutClient =
    "INSERT OR REPLACE INTO client(id, boot, name, device, device_name, server, domain, exchange,"
    " producer, consumer, pid, started, uid, draining)"
    " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
const char* const kPutSlab =
    "INSERT OR REPLACE INTO slab(producer, number, boot, bytes, state, generation, secret, holder,"
    " reclaim, granted, late) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
const char* const kPutReclaim =
    "INSERT OR REPLACE INTO reclaim(id, boot, producer, wanted, returned, started_ms, deadline_ms,"
    " done, ended_ms) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)";
const char* const kPutPair =
    "INSERT OR REPLACE INTO pair(consumer, boot, producer, explicit) VALUES(?, ?, ?, ?)";

SqliteStatement& bind(SqliteStatement& put, const ClientRow& row, const std::string& boot) {
  const ClientInfo& info = row.info;
  return put.bind(info.id, boot, info.name, info.device, info.device_name, info.server, info.domain,
                  info.exchange, info.producer, info.consumer, info.pid, info.started, info.uid,
                  row.draining);
}

SqliteStatement& bind(SqliteStatement& put, const Slab& row, const std::string& boot) {
  const std::string_view state = to_string(row.state);  // a literal
  if (!row.holder) {
    return put.bind(row.id.producer, row.id.index, boot, row.bytes, state, row.generation,
                    row.secret, nullptr, row.reclaim, row.granted, row.late);
  }
  return put.bind(row.id.producer, row.id.index, boot, row.bytes, state, row.generation, row.secret,
                  *row.holder, row.reclaim, row.granted, row.late);
}

SqliteStatement& bind(SqliteStatement& put, const Reclaim& row, const std::string& boot) {
  return put.bind(row.id, boot, row.producer, row.bytes_wanted, row.bytes_returned,
                  std::int64_t{row.started.count()}, std::int64_t{row.deadline.count()}, row.done,
                  std::int64_t{row.ended.count()});
}

SqliteStatement& bind(SqliteStatement& put, const Pair& row, const std::string& boot) {
  return put.bind(row.consumer, boot, row.producer, row.is_explicit);
}

Result<std::uint64_t> drop_other_boots(const SqliteConnection& connection,
                                       const std::string& boot) {
  std::uint64_t dropped = 0;
  for (const char* sql :
       {"DELETE FROM client WHERE boot <> ?", "DELETE FROM slab WHERE boot <> ?",
        "DELETE FROM reclaim WHERE boot <> ?", "DELETE FROM pair WHERE boot <> ?",
        "DELETE FROM pipeline_group WHERE boot <> ?", "DELETE FROM group_member WHERE boot <> ?"}) {
    AQUA_ASSIGN(SqliteStatement statement, connection.prepare(sql));
    AQUA_TRY(statement.bind(boot).run());
    dropped += static_cast<std::uint64_t>(connection.changed());
  }
  return dropped;
}

namespace {

ClientRow client_of(const SqliteStatement& row) {
  ClientInfo info;
  info.id = row.id<ClientId>(0);
  info.name = row.text(1);
  info.device = row.id<DeviceUuid>(2);
  info.device_name = row.text(3);
  info.server = row.text(4);
  info.domain = row.text(5);
  info.exchange = row.text(6);
  info.producer = row.number(7) != 0;
  info.consumer = row.number(8) != 0;
  info.pid = row.number(9);
  info.started = row.count(10);
  info.uid = static_cast<std::uint32_t>(row.count(11));
  return {std::move(info), row.number(12) != 0};
}

Slab slab_of(const SqliteStatement& row) {
  Slab slab;
  slab.id = {row.id<ClientId>(0), static_cast<std::uint32_t>(row.number(1))};
  slab.bytes = row.count(2);
  // A name that nobody knows reads as returned, of which there is no row: restore() refuses it.
  const std::string name = row.text(3);
  const auto state = std::ranges::find(ledger::kSlabStates, name,
                                       [](SlabState known) { return to_string(known); });
  slab.state = state == ledger::kSlabStates.end() ? SlabState::returned : *state;
  slab.generation = row.count(4);
  slab.secret = row.id<LeaseSecret>(5);
  if (!row.null(6)) slab.holder = row.id<ClientId>(6);
  slab.reclaim = row.count(7);
  slab.granted = row.count(8);
  slab.late = row.number(9) != 0;
  return slab;
}

Reclaim reclaim_of(const SqliteStatement& row) {
  return Reclaim{.id = row.count(0),
                 .producer = row.id<ClientId>(1),
                 .bytes_wanted = row.count(2),
                 .bytes_returned = row.count(3),
                 .started = ledger::Time{row.number(4)},
                 .deadline = ledger::Time{row.number(5)},
                 .ended = ledger::Time{row.number(7)},
                 .done = row.number(6) != 0,
                 .outstanding = {}};
}

Pair pair_of(const SqliteStatement& row) {
  return Pair{.producer = row.id<ClientId>(1),
              .consumer = row.id<ClientId>(0),
              .is_explicit = row.number(2) != 0};
}

}  // namespace

Result<ledger::Image> read_all(const SqliteConnection& connection) {
  ledger::Image image;
  AQUA_ASSIGN(image.clients,
              read_rows<ClientRow>(connection,
                                   "SELECT id, name, device, device_name, server, domain, exchange,"
                                   " producer, consumer, pid, started, uid, draining FROM client",
                                   client_of));
  AQUA_ASSIGN(image.slabs,
              read_rows<Slab>(connection,
                              "SELECT producer, number, bytes, state, generation, secret,"
                              " holder, reclaim, granted, late FROM slab",
                              slab_of));
  AQUA_ASSIGN(image.reclaims,
              read_rows<Reclaim>(connection,
                                 "SELECT id, producer, wanted, returned, started_ms,"
                                 " deadline_ms, done, ended_ms FROM reclaim",
                                 reclaim_of));
  AQUA_ASSIGN(
      image.pairs,
      read_rows<Pair>(connection, "SELECT consumer, producer, explicit FROM pair", pair_of));
  return image;
}

}  // namespace aqua::coordinator::rows
