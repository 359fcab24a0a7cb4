// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/orders.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/admin/operator.hpp"
#include "tools/cli/coordinator_option.hpp"
#include "tools/cli/find_client.hpp"

namespace aqua::tool {
namespace {

constexpr const char* kDrain =
    R"(Usage: aqua drain NAME [options]

All that this client lends goes home, and nothing more is granted of it or to it, until the drain
is ended or the client is gone, also past a restart of the coordinator. `aqua status` says when
it is drained.)";
constexpr const char* kReclaim =
    R"(Usage: aqua reclaim NAME --mib N [options]

So much of what this client lends goes home: free slabs at once, the rest as borrowers move off.)";
constexpr const char* kPair =
    R"(Usage: aqua pair LENDER BORROWER [options]

From now on this borrower borrows from this lender.)";

Error bad(const Order& order, const std::string& what) {
  return Error{Code::invalid_argument, concat(to_string(order.kind), ": ", what)};
}

ledger::Time within(const Order& order) {
  return std::chrono::duration_cast<ledger::Time>(order.within);
}

// What was ordered, as one sentence.
Result<std::string> give(const Order& order, const ClientId& client, const ClientId& borrower) {
  switch (order.kind) {
    case OrderKind::drain:
      if (order.end) {
        AQUA_TRY(admin::end_drain(order.coordinator, client));
        return concat(order.client, " is drained no more");
      }
      AQUA_TRY(admin::drain(order.coordinator, {client, within(order)}));
      return concat(order.client, " is being drained; `aqua status` says when it is done");
    case OrderKind::reclaim: {
      AQUA_ASSIGN(const std::uint64_t reclaim,
                  admin::recall(order.coordinator, {client, order.mib << 20, within(order)}));
      return concat(order.mib, " MiB of ", order.client, " are wanted back by reclaim ", reclaim);
    }
    case OrderKind::pair:
      if (order.end) {
        AQUA_TRY(admin::remove_pair(order.coordinator, borrower));
        return concat(order.borrower, " is paired no more");
      }
      AQUA_TRY(admin::set_pair(order.coordinator, {client, borrower}));
      return concat(order.borrower, " borrows from ", order.client);
  }
  return Error{Code::internal, "no such order"};
}

}  // namespace

std::string_view to_string(OrderKind kind) {
  return kind == OrderKind::drain ? "drain" : kind == OrderKind::reclaim ? "reclaim" : "pair";
}

CommandLine order_line(Order& order) {
  const bool pair = order.kind == OrderKind::pair;
  CommandLine line(std::string(to_string(order.kind)), order.kind == OrderKind::drain ? kDrain
                                                       : pair                         ? kPair
                                                                                      : kReclaim);
  line.positional(pair ? "LENDER" : "NAME", order.client, "an id, its beginning, or a name");
  if (pair) line.positional("BORROWER", order.borrower, "likewise");
  add_coordinator(line, order.coordinator);
  if (order.kind == OrderKind::reclaim)
    line.number("--mib", order.mib, 1, std::uint64_t{1} << 40, "N", "how much");
  if (pair) {
    line.flag("--end", order.end, "borrows from it no more");
  } else {
    line.number("--within", order.within, 1, 86'400, "SECONDS", "until the deadline");
  }
  if (order.kind == OrderKind::drain) line.flag("--end", order.end, "lends and borrows again");
  line.flag("--json", order.json, "for scripts");
  return line;
}

Result<Order> parse_order(OrderKind kind, std::span<const std::string_view> arguments) {
  Order order{.kind = kind};
  AQUA_TRY(order_line(order).parse(arguments));
  if (order.client.empty()) return bad(order, "whom? Give a name; `aqua status` lists them");
  if (kind == OrderKind::pair && order.borrower.empty())
    return bad(order, "with whom? Give LENDER and BORROWER");
  if (kind == OrderKind::reclaim && order.mib == 0) return bad(order, "how much? Give --mib N");
  AQUA_TRY(resolve_coordinator(order.coordinator, to_string(kind)));
  return order;
}

Result<std::string> run_order(const Order& order) {
  AQUA_ASSIGN(const auto state, admin::fetch_state(order.coordinator));
  const std::string_view command = to_string(order.kind);
  AQUA_ASSIGN(const ClientId client, find_client(state, command, order.client));
  ClientId borrower;
  if (order.kind == OrderKind::pair) {
    AQUA_ASSIGN(borrower, find_client(state, command, order.borrower));
    if (order.end &&
        std::ranges::find(state.pairs, wire::Pair{client, borrower}) == state.pairs.end())
      return Error{Code::not_found,
                   concat("pair: ", order.borrower, " is not paired with ", order.client)};
  }
  AQUA_ASSIGN(const std::string told, give(order, client, borrower));
  if (!order.json) return told + "\n";
  nlohmann::json said{{"order", command}, {"client", to_string(client)}, {"told", told}};
  if (order.kind == OrderKind::pair) said["borrower"] = to_string(borrower);
  return said.dump() + "\n";
}

}  // namespace aqua::tool
