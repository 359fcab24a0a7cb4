// SPDX-License-Identifier: Apache-2.0
// Any calls on packers. What a packer says of itself must agree with what it was told.
#pragma once

#include <array>
#include <iterator>

#include "tests/fuzz/capi_handles.hpp"

namespace aqua::fuzz {

class PackerCalls {
 public:
  PackerCalls(Input& in, Handles& handles) : in_(in), handles_(handles) {}

  void free_any(std::uint64_t id) { handles_.ended(id, ok(aqua_packer_free({id}))); }
  // How many of these kinds the handle is of.
  [[nodiscard]] static int kinds(std::uint64_t id) {
    aqua_packer_status status = AQUA_PACKER_STATUS_INIT;
    return ok(aqua_packer_get_status({id}, &status));
  }
  void one() {
    const aqua_packer packer{in_.byte() < 230 ? last_ : handles_.pick()};
    switch (in_.byte() % 12) {
      case 0:
        return make();
      case 1:
        return join(packer);
      case 2:
      case 3:
      case 4:
        return arrive(packer);
      case 5:
        return used(packer, aqua_packer_grew(packer, id(), in_.number()));
      case 6:
        return used(packer, aqua_packer_ended(packer, id()));
      case 7:
        return engine(packer);
      case 8:
        return lose(packer);
      case 9:
        return ask(packer);
      default:
        return epoch(packer);
    }
  }

 private:
  void used(aqua_packer packer, aqua_error* error) { handles_.used(packer.id, ok(error)); }
  std::uint64_t id() { return in_.byte() % 12U; }

  void make() {
    aqua_packer_options options = AQUA_PACKER_OPTIONS_INIT;
    if (in_.byte() > 100) options.watermark = in_.byte() / 500.0;
    options.max_moves = in_.byte() % 8U;
    options.max_move_tokens = in_.byte() < 200 ? 0 : in_.number();
    options.reserve = in_.byte() & 1U;
    options.block_tokens = in_.byte() < 200 ? 1 : in_.number();
    if (in_.byte() > 240) {
      options.near_slack = in_.byte() / 100.0;
      options.balance_gap = in_.byte() / 100.0;
      options.bytes_per_token = in_.number();
      options.struct_size = in_.number() % sizeof options;
    }
    const char* const policy = aqua_packer_policy(in_.byte() % 8U);  // NULL: the default
    aqua_packer made{};
    const bool well = ok(aqua_packer_create(policy, &options, &made));
    handles_.made(made.id, well);
    if (!well) return;
    last_ = made.id;
    for (int i = 0; i < 4; ++i) join(made);
  }
  void join(aqua_packer packer) {
    aqua_packer_engine engine = AQUA_PACKER_ENGINE_INIT;
    engine.id = id();
    engine.kv_tokens = in_.number();
    engine.server = in_.byte() % 3U;
    engine.domain = in_.byte() % 2U;
    engine.wake_cost = in_.byte();
    used(packer, aqua_packer_join(packer, &engine));
  }
  void arrive(aqua_packer packer) {
    aqua_packer_request request = AQUA_PACKER_REQUEST_INIT;
    request.id = id();
    request.tokens = in_.number();
    request.max_new = in_.byte();
    if (in_.byte() > 200) {
      request.prefix = in_.byte() % 3U;
      request.prefix_tokens = in_.byte();
    }
    aqua_packer_placement placed{};
    const bool well = ok(aqua_packer_arrive(packer, &request, &placed));
    handles_.used(packer.id, well);
    if (well && (placed.request != request.id || placed.reason > AQUA_PACKER_WAITS)) std::abort();
  }
  void engine(aqua_packer packer) {
    switch (in_.byte() % 3) {
      case 0:
        return used(packer, aqua_packer_resize(packer, id(), in_.number()));
      case 1:
        return used(packer, aqua_packer_drain(packer, id()));
      default:
        return used(packer, aqua_packer_gone(packer, id()));
    }
  }
  void lose(aqua_packer packer) {
    const std::uint64_t* lost = nullptr;
    std::size_t count = 0;
    const bool well = ok(aqua_packer_lost(packer, id(), &lost, &count));
    handles_.used(packer.id, well);
    for (std::size_t i = 0; well && i < count; ++i) {
      if (state_of(packer, lost[i]) != AQUA_PACKER_WAITING) std::abort();
    }
  }
  static aqua_packer_request_state state_of(aqua_packer packer, std::uint64_t request) {
    aqua_packer_request_status told = AQUA_PACKER_REQUEST_STATUS_INIT;
    must(aqua_packer_get_request(packer, request, &told));
    return told.state;
  }
  // Some moves are over when the next plan is made, some failed, some go on.
  void epoch(aqua_packer packer) {
    aqua_packer_plan plan = AQUA_PACKER_PLAN_INIT;
    const bool well = ok(aqua_packer_epoch(packer, &plan));
    handles_.used(packer.id, well);
    if (!well) return;
    divide(plan);
    for (std::size_t i = 0; i < plan.preemption_count; ++i)
      (void)state_of(packer, plan.preemptions[i].request);
    for (std::size_t i = 0; i < plan.move_count; ++i) {
      const aqua_packer_move move = plan.moves[i];
      if (state_of(packer, move.request) != AQUA_PACKER_MOVING) std::abort();
      const std::uint8_t how = in_.byte();
      if (how < 120) must(aqua_packer_moved(packer, move.request, plan.number));
      if (how >= 200) must(aqua_packer_failed(packer, move.request, plan.number));
      if (how == 255 && ok(aqua_packer_moved(packer, move.request, plan.number))) std::abort();
    }
  }
  void divide(const aqua_packer_plan& plan) {
    std::array<aqua_packer_engine_boundary, 12> engines{};
    for (std::uint64_t i = 0; i < engines.size(); ++i)
      engines.at(i) = {i, i % 3, in_.number(), in_.number(), in_.number()};
    std::array<aqua_packer_server_boundary, 3> servers{};
    for (std::uint64_t i = 0; i < servers.size(); ++i)
      servers.at(i) = {i, in_.number(), in_.number()};
    std::vector<aqua_packer_send_as> as(plan.move_count);
    must(aqua_packer_divide(plan.moves, plan.move_count, engines.data(), engines.size(),
                            servers.data(), servers.size(), in_.byte() % 3U, as.data()));
  }
  void ask(aqua_packer packer) {
    aqua_packer_status all = AQUA_PACKER_STATUS_INIT;
    const bool well = ok(aqua_packer_get_status(packer, &all));
    handles_.used(packer.id, well);
    if (!well) return;
    std::uint64_t held = 0, engines = 0, requests = 0;
    for (std::uint64_t n = 0; n < 12; ++n) {
      aqua_packer_engine_status engine = AQUA_PACKER_ENGINE_STATUS_INIT;
      if (ok(aqua_packer_get_engine(packer, n, &engine))) {
        held += engine.held_tokens;
        ++engines;
      }
      aqua_packer_request_status request = AQUA_PACKER_REQUEST_STATUS_INIT;
      requests += ok(aqua_packer_get_request(packer, n, &request)) ? 1 : 0;
    }
    const bool agrees = held == all.held_tokens &&
                        engines == all.asleep + all.active + all.draining &&
                        requests == all.waiting + all.resident + all.moving;
    if (!agrees) std::abort();
  }

  Input& in_;
  Handles& handles_;
  std::uint64_t last_ = 0;
};

}  // namespace aqua::fuzz
