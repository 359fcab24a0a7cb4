// SPDX-License-Identifier: Apache-2.0
#include "serve/wiring.hpp"

#include <utility>

namespace aqua::pipeline {
namespace {

// What who connects says first: where it stands.
struct Greeting {
  Word term = 0;
  unsigned stage = 0;
  unsigned rank = 0;
};

// A port may have been that of another process in an older term, and a Unix socket's name has it.
std::string listening_at(const Place& place, const std::filesystem::path& directory,
                         const std::string& host, Word term) {
  if (!host.empty()) return host + ":0";
  return directory / (place.pipeline + "-" + std::to_string(place.stage) + "-" +
                      std::to_string(place.rank) + "-" + std::to_string(term) + ".sock");
}

}  // namespace

std::string Place::name() const {
  return pipeline + ", stage " + std::to_string(stage) + ", rank " + std::to_string(rank);
}

Wiring::Wiring(Place place, const std::filesystem::path& directory, const std::string& host,
               Word term)
    : place_(std::move(place)),
      term_(term),
      of_hosts_(!host.empty()),
      listener_(listening_at(place_, directory, host, term)) {}

void Wiring::connect(Orders& orders, const std::vector<std::string>& addresses) {
  std::function<void()> look;
  if (of_hosts_) {
    look = [&orders] {
      if (orders.rewire_comes()) throw NeighbourGone("the term is over");
    };
  }
  const auto reach = [&](unsigned stage, unsigned rank) {
    Place there = place_;
    there.stage = stage;
    there.rank = rank;
    Link link = Link::connect(there.name(), addresses.at(stage * place_.shape.ranks + rank), look);
    const Greeting greeting{term_, place_.stage, place_.rank};
    link.send_values(std::span<const Greeting>(&greeting, 1));
    return link;
  };
  if (!place_.last()) behind_ = reach(place_.stage + 1, place_.rank);
  if (place_.rank > 0) leader_ = reach(place_.stage, 0);

  const unsigned partners = place_.rank == 0 ? place_.shape.ranks - 1 : 0;
  for (unsigned missing = partners + (place_.first() ? 0 : 1); missing > 0;) {
    Link link = listener_.accept(orders);
    link.while_waiting(look);
    Greeting greeting;
    link.receive_values(std::span<Greeting>(&greeting, 1));
    if (greeting.term != term_) continue;
    --missing;
    Place there = place_;
    there.stage = greeting.stage;
    there.rank = greeting.rank;
    link.name(there.name());
    if (greeting.stage == place_.stage) {
      partners_.push_back(std::move(link));
    } else {
      before_ = std::move(link);
    }
  }
}

void Wiring::while_waiting(const std::function<void()>& does) {
  for (Link* const link : {&before_, &behind_, &leader_}) link->while_waiting(does);
  for (Link& partner : partners_) partner.while_waiting(does);
}

// The first rank adds up. In which order the others are heard does not matter: sums are exact.
void Wiring::add_up(std::vector<Hidden>& values) {
  if (leader_.open()) {
    leader_.send_values(std::span<const Hidden>(values));
    leader_.receive_values(std::span<Hidden>(values));
    return;
  }
  std::vector<Hidden> theirs(values.size());
  for (Link& partner : partners_) {
    partner.receive_values(std::span<Hidden>(theirs));
    for (std::size_t i = 0; i < values.size(); ++i) add(values[i], theirs[i]);
  }
  for (Link& partner : partners_) partner.send_values(std::span<const Hidden>(values));
}

}  // namespace aqua::pipeline
