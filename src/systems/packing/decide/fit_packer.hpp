// SPDX-License-Identifier: Apache-2.0
// The policies that place by room alone. bf and wf never move what runs; lb balances loads, and
// drain empties engines.
//
// Threads: not thread-safe.
#pragma once

#include "systems/packing/decide/packer_base.hpp"

namespace aqua::packing {

class FitPacker : public PackerBase {
 public:
  FitPacker(const PackerOptions& options, bool worst, bool moves = false)
      : PackerBase(options, moves), worst_(worst) {}
  [[nodiscard]] std::string_view name() const noexcept override { return worst_ ? "wf" : "bf"; }

 protected:
  [[nodiscard]] Choice place(const Request& request, const Engine* except) override {
    return fit(request, except, worst_);
  }

 private:
  const bool worst_;
};

// As long as the engine with the least room has much less than the one with the most, a request
// goes from there to here that at most halves the difference.
class LbPacker final : public FitPacker {
 public:
  explicit LbPacker(const PackerOptions& options) : FitPacker(options, true, true) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "lb"; }

 protected:
  void improve() override;

 private:
  [[nodiscard]] Engine* fullest();
};

// As long as all requests of the engine with the most room fit elsewhere, they go there, by several
// plans where they are more than one may move.
class DrainPacker : public FitPacker {
 public:
  explicit DrainPacker(const PackerOptions& options) : FitPacker(options, false, true) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "drain"; }

 protected:
  void improve() override { empty_engines(); }
  void empty_engines();

 private:
  [[nodiscard]] Engine* emptiest();
  [[nodiscard]] bool empty_one(Engine& engine);
};

}  // namespace aqua::packing
