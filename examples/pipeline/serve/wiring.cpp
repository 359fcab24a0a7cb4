// SPDX-License-Identifier: Apache-2.0
#include "serve/wiring.hpp"

#include <utility>

namespace aqua::pipeline {
namespace {

// What who connects says first: where it stands.
struct Greeting {
  unsigned stage = 0;
  unsigned rank = 0;
};

}  // namespace

std::string Place::name() const {
  return pipeline + ", stage " + std::to_string(stage) + ", rank " + std::to_string(rank);
}

Wiring::Wiring(Place place, const std::filesystem::path& directory, Word term)
    : place_(std::move(place)),
      directory_(directory),
      term_(term),
      listener_(socket_of(place_.stage, place_.rank)) {}

std::filesystem::path Wiring::socket_of(unsigned stage, unsigned rank) const {
  return directory_ / (place_.pipeline + "-" + std::to_string(stage) + "-" + std::to_string(rank) +
                       "-" + std::to_string(term_) + ".sock");
}

void Wiring::connect(const Orders& orders) {
  const auto reach = [&](unsigned stage, unsigned rank) {
    Place there = place_;
    there.stage = stage;
    there.rank = rank;
    Link link = Link::connect(there.name(), socket_of(stage, rank));
    const Greeting greeting{place_.stage, place_.rank};
    link.send_values(std::span<const Greeting>(&greeting, 1));
    return link;
  };
  if (!place_.last()) behind_ = reach(place_.stage + 1, place_.rank);
  if (place_.rank > 0) leader_ = reach(place_.stage, 0);

  const unsigned partners = place_.rank == 0 ? place_.shape.ranks - 1 : 0;
  for (unsigned i = 0; i < partners + (place_.first() ? 0 : 1); ++i) {
    Link link = listener_.accept(orders);
    Greeting greeting;
    link.receive_values(std::span<Greeting>(&greeting, 1));
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
