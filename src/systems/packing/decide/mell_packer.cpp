// SPDX-License-Identifier: Apache-2.0
#include "systems/packing/decide/mell_packer.hpp"

namespace aqua::packing {
namespace {

constexpr std::size_t kCandidates = 8;  // L-engines looked at for one S or M

}  // namespace

MellPacker::MellPacker(const PackerOptions& options)
    : PackerBase(options, true),
      board_(fleet_),
      repairs_(fleet_, board_, draft_, [this](const Request& request, const Engine* except) {
        return choose(request, except);
      }) {}

// What is there now decides, guests included: nobody gives way between two epochs.
Choice MellPacker::place(const Request& request, const Engine* except) {
  if (Engine* shares = fleet_.prefix_fit(request, except, false)) return {shares, Reason::prefix};
  const Class is = board_.class_of(request.own);
  if (is == Class::tiny) {
    const std::uint64_t need = request.own + request.prefix_tokens;
    auto thin = board_.thin().lower_bound({need, no_engine});
    if (thin != board_.thin().end() && except != nullptr && thin->second == except->id()) ++thin;
    fleet_.look(2);
    if (thin != board_.thin().end()) return {&fleet_.at(thin->second), Reason::fills_gap};
  } else if (is != Class::large) {
    auto single = board_.single_large().lower_bound({request.own, no_engine});
    for (std::size_t i = 0; i < kCandidates && single != board_.single_large().end();
         ++i, ++single) {
      Engine& engine = fleet_.at(single->second);
      fleet_.look();
      if (&engine != except && fleet_.fits(request, engine)) return {&engine, Reason::beside_large};
    }
  }
  return fit(request, except, false);
}

void MellPacker::improve() {
  repairs_.run([] { return false; });
}

PackPacker::PackPacker(const PackerOptions& options)
    : DrainPacker(options),
      board_(fleet_),
      repairs_(fleet_, board_, draft_, [this](const Request& request, const Engine* except) {
        return choose(request, except);
      }) {}

void PackPacker::improve() {
  empty_engines();
  repairs_.run([this] { return few_enough(); });
}

}  // namespace aqua::packing
