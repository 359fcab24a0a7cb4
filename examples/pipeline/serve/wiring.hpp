// SPDX-License-Identifier: Apache-2.0
// Wiring connects a process of a pipeline with its neighbours: the same rank of the stage before
// and behind it, and within its stage the first rank, which adds up what all of them have computed.
//
// In each term of the pipeline's group all are wired anew, by other sockets, and who connects says
// the term: nothing that was on its way in the old one can be taken for something of the new one,
// and a process that has not heard of the new one reaches nobody. Where each listens, the
// orchestrator tells the others.
//
// Threads: one. Errors: Failure, NeighbourGone.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "model/shape.hpp"
#include "model/toy_model.hpp"
#include "serve/link.hpp"

namespace aqua::pipeline {

// Which process of which pipeline.
struct Place {
  std::string pipeline{};
  PipelineShape shape{};
  unsigned stage = 0;
  unsigned rank = 0;

  [[nodiscard]] bool first() const { return stage == 0; }
  [[nodiscard]] bool last() const { return stage + 1 == shape.stages; }
  [[nodiscard]] std::string name() const;  // "decode, stage 1, rank 0"
};

class Wiring {
 public:
  // Listens, for those of the same term; nobody is connected yet. `host`: this one's address on the
  // network; empty: by a Unix socket in `directory`.
  Wiring(Place place, const std::filesystem::path& directory, const std::string& host, Word term);
  // Where it listens.
  [[nodiscard]] const std::string& address() const { return listener_.address(); }
  // Whether a neighbour may be on another host, whose end no socket tells.
  [[nodiscard]] bool is_of_hosts() const { return of_hosts_; }
  // All processes of the pipeline listen there, by stage, then by rank. Returns once each neighbour
  // is connected. NeighbourGone where one has died meanwhile, or another order is there; `orders`
  // outlive this.
  void connect(Orders& orders, const std::vector<std::string>& addresses);

  // Then: is called again and again while this process waits for a neighbour.
  void while_waiting(const std::function<void()>& does);

  // The first stage has none before it, the last none behind it: they talk with the orchestrator.
  [[nodiscard]] Link& before() { return before_; }
  [[nodiscard]] Link& behind() { return behind_; }
  // Makes of what each rank of the stage gives the sum of all, in every one of them. All ranks call
  // it, for the same step, with as many values.
  void add_up(std::vector<Hidden>& values);

 private:
  const Place place_;
  const Word term_;
  const bool of_hosts_;
  Listener listener_;
  Link before_{}, behind_{};
  Link leader_{};                 // of the other ranks: the first one
  std::vector<Link> partners_{};  // of the first rank: the others
};

}  // namespace aqua::pipeline
