// SPDX-License-Identifier: Apache-2.0
// JSON of the ledger's own types, which several messages carry. Inside this room only.
#pragma once

#include "ledger/ledger.hpp"
#include "wire/events.hpp"
#include "wire/json/fields.hpp"
#include "wire/json/json.hpp"

namespace aqua::wire {

// Durations ("ttl_ms") and points in time ("deadline_in_ms", from now).
void write_duration(Json& out, const char* name, ledger::Time duration);
void read_duration(Fields& in, const char* name, ledger::Time& duration);
void write_time(Json& out, const char* name, ledger::Time time, ledger::Time now);
void read_time(Fields& in, const char* name, ledger::Time& time, ledger::Time now);

// A row is an object that one of these fills; a SlabId is two fields of its row.
void write_row(Json& out, const ledger::SlabId& id, ledger::Time now);
void read_row(Fields& in, ledger::SlabId& id, ledger::Time now);
void write_row(Json& out, const ledger::ClientInfo& info, ledger::Time now);
void read_row(Fields& in, ledger::ClientInfo& info, ledger::Time now);
void write_row(Json& out, const ledger::OfferedSlab& slab, ledger::Time now);
void read_row(Fields& in, ledger::OfferedSlab& slab, ledger::Time now);
void write_row(Json& out, const ledger::Scrub& slab, ledger::Time now);
void read_row(Fields& in, ledger::Scrub& slab, ledger::Time now);
void write_row(Json& out, const ledger::Grant& grant, ledger::Time now);
void read_row(Fields& in, ledger::Grant& grant, ledger::Time now);
void write_row(Json& out, const ledger::Slab& slab, ledger::Time now);  // without its secret
void read_row(Fields& in, ledger::Slab& slab, ledger::Time now);
void write_row(Json& out, const ledger::LeaseRefusal& refusal, ledger::Time now);
void read_row(Fields& in, ledger::LeaseRefusal& refusal, ledger::Time now);
void write_row(Json& out, const ledger::Client& client, ledger::Time now);
void read_row(Fields& in, ledger::Client& client, ledger::Time now);
void write_row(Json& out, const ledger::Reclaim& reclaim, ledger::Time now);
void read_row(Fields& in, ledger::Reclaim& reclaim, ledger::Time now);
void write_row(Json& out, const ledger::Event& event, ledger::Time now);
void read_row(Fields& in, ledger::Event& event, ledger::Time now);

// "name": [{...}, ...], by write_row() and read_row() of the element.
template <typename Rows>
void write_rows(Json& out, const char* name, const Rows& rows, ledger::Time now) {
  Json array = Json::array();
  for (const auto& row : rows) write_row(array.emplace_back(Json::object()), row, now);
  out[name] = std::move(array);
}
template <typename T>
void read_rows(Fields& in, const char* name, std::vector<T>& rows, std::size_t max,
               ledger::Time now) {
  in.objects(name, rows, max, [now](Fields& fields, T& row) { read_row(fields, row, now); });
}

}  // namespace aqua::wire
