// SPDX-License-Identifier: Apache-2.0
#include "coordinator_bench/actor.hpp"

#include "wire/codec.hpp"

namespace aqua::bench {

Borrower::Borrower(const Couple& couple)
    : couple_(couple),
      lease_{Kind::lease, couple.consumer.request("POST", "/v1/leases",
                                                  wire::encode(wire::LeaseRequest{
                                                      Session::kSlabBytes, Session::kRoom}))},
      ask_(lease_) {}

void Borrower::took(const Reply& reply) {
  switch (ask_.kind) {
    case Kind::lease:
      return give_back(reply.body);
    case Kind::give_back:
      return after_return();
    case Kind::upkeep:
      returned_.clear();
      ask_ = lease_;
      return;
    case Kind::renewal:
      return;
  }
}

void Borrower::give_back(std::string_view lease) {
  const auto index = static_cast<std::uint32_t>(number_in(lease, "index"));
  const std::uint64_t generation = number_in(lease, "generation");
  returned_.push_back({index, generation, random_id<LeaseTag>()});
  const wire::ReturnRequest request{{{{couple_.producer.id(), index}, generation}}};
  ask_ = {Kind::give_back,
          couple_.consumer.request("POST", "/v1/leases/return", wire::encode(request))};
}

void Borrower::after_return() {
  if (returned_.size() < kScrubs) {
    ask_ = lease_;
    return;
  }
  ask_ = {Kind::upkeep, couple_.producer.request("POST", "/v1/offers/scrubbed",
                                                 wire::encode(wire::ScrubbedRequest{returned_}))};
}

}  // namespace aqua::bench
