// SPDX-License-Identifier: Apache-2.0
#include "coordinator_bench/revocation.hpp"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "wire/codec.hpp"
#include "wire/slabs.hpp"

namespace aqua::bench {

Revocation::Revocation(HttpLoop& http, const Server& server, const Couple& couple,
                       std::vector<double>& delays_ms)
    : http_(http),
      server_(server),
      couple_(couple),
      delays_ms_(delays_ms),
      watcher_(http, server, couple.consumer) {
  prepare();
}

void Revocation::prepare() {
  wire::OfferRequest offer;
  offer.slabs.push_back({.index = slab_,
                         .bytes = Session::kSlabBytes,
                         .generation = 1,
                         .secret = random_id<LeaseTag>(),
                         .holder = {}});
  const wire::LeaseRequest lease{Session::kSlabBytes, Session::kRoom};
  steps_.push_back(couple_.producer.request("POST", "/v1/offers", wire::encode(offer)));
  steps_.push_back(couple_.consumer.request("POST", "/v1/leases", wire::encode(lease)));
  follow();
}

void Revocation::follow() {
  if (!steps_.empty()) {
    std::string request = std::move(steps_.front());
    steps_.pop_front();
    return after(std::move(request), &Revocation::follow);
  }
  ready_ = true;
  watcher_.wait([this](Clock::time_point at) {
    delays_ms_.push_back(std::chrono::duration<double, std::milli>(at - due_).count());
    half_done();
  });
}

void Revocation::reclaim(Clock::time_point due) {
  due_ = due;
  ready_ = false;
  halves_ = 0;
  const wire::ReclaimRequest request{Session::kSlabBytes, std::chrono::minutes{1}};
  after(couple_.producer.request("POST", "/v1/reclaims", wire::encode(request)),
        &Revocation::half_done);
}

void Revocation::half_done() {
  if (++halves_ < 2) return;
  const wire::ReturnRequest back{{{{couple_.producer.id(), slab_}, 1}}};
  const wire::ScrubbedRequest scrubbed{{{slab_, 1, random_id<LeaseTag>()}}};
  steps_.push_back(couple_.consumer.request("POST", "/v1/leases/return", wire::encode(back)));
  steps_.push_back(couple_.producer.request("POST", "/v1/offers/scrubbed", wire::encode(scrubbed)));
  ++slab_;
  prepare();
}

void Revocation::after(std::string request, void (Revocation::*then)()) {
  http_.ask(server_.address, request, [this, then](const Reply& reply) {
    if (reply.status != 200) {
      std::fprintf(stderr, "revocation: status %d: %.*s\n", reply.status,
                   static_cast<int>(reply.body.size()), reply.body.data());
      std::exit(1);
    }
    (this->*then)();
  });
}

}  // namespace aqua::bench
