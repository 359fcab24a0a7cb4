// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/status_report.hpp"

#include <iomanip>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tools/report/text.hpp"

namespace aqua::tool {
namespace {

using Json = nlohmann::json;

struct Sums {
  std::uint64_t put_up = 0;    // bytes of its own slabs
  std::uint64_t held = 0;      // of these, in others' hands
  std::uint64_t borrowed = 0;  // bytes of others' slabs that it holds
};
struct Loan {
  std::size_t slabs = 0;
  std::uint64_t bytes = 0;
  std::map<std::string, std::size_t> states;
};
using Loans = std::map<std::pair<ClientId, ClientId>, Loan>;  // producer, consumer
struct Summary {
  std::map<ClientId, Sums> clients;
  Loans loans;
  Loans alleged;  // holds that only the producer tells of
};

Summary summarise(const wire::State& state) {
  Summary summary;
  for (const ledger::Client& client : state.clients) summary.clients[client.info.id];
  for (const ledger::Slab& slab : state.slabs) {
    summary.clients[slab.id.producer].put_up += slab.bytes;
    if (!slab.holder) continue;
    const bool alleged = is_alleged(slab);
    if (!alleged) {
      summary.clients[slab.id.producer].held += slab.bytes;
      summary.clients[*slab.holder].borrowed += slab.bytes;
    }
    Loan& loan = (alleged ? summary.alleged : summary.loans)[{slab.id.producer, *slab.holder}];
    ++loan.slabs;
    loan.bytes += slab.bytes;
    ++loan.states[std::string(ledger::to_string(slab.state))];
  }
  return summary;
}

// "producer-0 (1a2b3c4d)": names need not be unique.
std::string label(const wire::State& state, const ClientId& id) {
  for (const ledger::Client& client : state.clients) {
    if (client.info.id == id) return client.info.name + " (" + to_string(id).substr(0, 8) + ")";
  }
  return "gone (" + to_string(id).substr(0, 8) + ")";
}

// The ledger's word, or how far an operator's drain is: a drained one lends nothing any more.
std::string_view state_of(const ledger::Client& client, const Sums& sums) {
  if (!client.draining || client.state != ledger::ClientState::live)
    return ledger::to_string(client.state);
  return sums.put_up > 0 ? "draining" : "drained";
}

Json rows_of(const Loans& loans) {
  Json rows = Json::array();
  for (const auto& [pair, loan] : loans) {
    rows.push_back({{"producer", to_string(pair.first)},
                    {"consumer", to_string(pair.second)},
                    {"slabs", loan.slabs},
                    {"bytes", loan.bytes},
                    {"states", loan.states}});
  }
  return rows;
}

}  // namespace

std::string render(const wire::State& state) {
  const Summary summary = summarise(state);
  std::ostringstream out;
  out << std::left << std::setw(28) << "CLIENT" << std::setw(10) << "DEVICE" << std::right
      << std::setw(8) << "PID"
      << "  " << std::left << std::setw(8) << "STATE" << std::right << std::setw(12) << "LENDS MiB"
      << std::setw(12) << "IN USE MiB" << std::setw(14) << "BORROWS MiB" << '\n';
  for (const ledger::Client& client : state.clients) {
    const Sums& sums = summary.clients.at(client.info.id);
    out << std::left << std::setw(28) << label(state, client.info.id) << std::setw(10)
        << client.info.device_name << std::right << std::setw(8) << client.info.pid << "  "
        << std::left << std::setw(8) << state_of(client, sums) << std::right << std::setw(12)
        << report::mib(sums.put_up) << std::setw(12) << report::mib(sums.held) << std::setw(14)
        << report::mib(sums.borrowed) << '\n';
  }
  if (state.clients.empty()) out << "(no clients)\n";
  out << '\n'
      << std::left << std::setw(28) << "LENDER" << std::setw(28) << "BORROWER" << std::right
      << std::setw(7) << "SLABS" << std::setw(12) << "MiB"
      << "  STATES\n";
  for (const auto& [pair, loan] : summary.loans) {
    out << std::left << std::setw(28) << label(state, pair.first) << std::setw(28)
        << label(state, pair.second) << std::right << std::setw(7) << loan.slabs << std::setw(12)
        << report::mib(loan.bytes) << ' ';
    for (const auto& [name, count] : loan.states) out << ' ' << name << ' ' << count;
    out << '\n';
  }
  if (summary.loans.empty()) out << "(nothing is lent)\n";
  for (const auto& [pair, hold] : summary.alleged) {
    out << '\n'
        << label(state, pair.first) << " alone says that " << label(state, pair.second) << " holds "
        << hold.slabs << " slabs of it, " << report::mib(hold.bytes) << " MiB\n";
  }
  for (const ledger::Client& client : state.clients) {
    if (!client.refused) continue;
    out << '\n'
        << label(state, client.info.id) << " gets no more (" << to_string(client.refused->why.code)
        << "): " << client.refused->why.message << '\n';
  }
  for (const ledger::Reclaim& reclaim : state.reclaims) {
    if (reclaim.done && reclaim.outstanding.empty()) continue;
    out << "\nreclaim " << reclaim.id << " by " << label(state, reclaim.producer) << ": "
        << report::mib(reclaim.bytes_returned) << " of " << report::mib(reclaim.bytes_wanted)
        << " MiB back, " << reclaim.outstanding.size() << " slabs outstanding"
        << (reclaim.done ? ", past its deadline" : "") << '\n';
  }
  return std::move(out).str();
}

std::string render_json(const wire::State& state, bool one_line) {
  const Summary summary = summarise(state);
  Json clients = Json::array();
  for (const ledger::Client& client : state.clients) {
    const Sums& sums = summary.clients.at(client.info.id);
    clients.push_back({{"id", to_string(client.info.id)},
                       {"name", client.info.name},
                       {"device", client.info.device_name},
                       {"pid", client.info.pid},
                       {"state", state_of(client, sums)},
                       {"lent_bytes", sums.put_up},
                       {"held_bytes", sums.held},
                       {"borrowed_bytes", sums.borrowed}});
    if (!client.refused) continue;
    clients.back()["refused"] = {{"code", to_string(client.refused->why.code)},
                                 {"detail", client.refused->why.message}};
  }
  Json reclaims = Json::array();
  for (const ledger::Reclaim& reclaim : state.reclaims) {
    reclaims.push_back({{"id", reclaim.id},
                        {"producer", to_string(reclaim.producer)},
                        {"bytes_wanted", reclaim.bytes_wanted},
                        {"bytes_returned", reclaim.bytes_returned},
                        {"done", reclaim.done},
                        {"outstanding", reclaim.outstanding.size()}});
  }
  const Json all{{"epoch", to_string(state.epoch)},
                 {"last_event", state.last_event},
                 {"clients", clients},
                 {"loans", rows_of(summary.loans)},
                 {"alleged", rows_of(summary.alleged)},
                 {"reclaims", reclaims}};
  return all.dump(one_line ? -1 : 2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace aqua::tool
