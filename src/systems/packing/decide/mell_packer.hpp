// SPDX-License-Identifier: Apache-2.0
// The policies with a worst case: mell, and pack, which packs as drain does and repairs as mell
// does when that needs too many engines.
//
// Threads: not thread-safe.
#pragma once

#include "systems/packing/decide/board.hpp"
#include "systems/packing/decide/fit_packer.hpp"
#include "systems/packing/decide/repairs.hpp"

namespace aqua::packing {

class MellPacker final : public PackerBase {
 public:
  explicit MellPacker(const PackerOptions& options);
  [[nodiscard]] std::string_view name() const noexcept override { return "mell"; }

 protected:
  [[nodiscard]] Choice place(const Request& request, const Engine* except) override;
  void improve() override;
  [[nodiscard]] bool properties() const override { return board_.holds(); }

 private:
  Board board_;
  Repairs repairs_;
};

class PackPacker final : public DrainPacker {
 public:
  explicit PackPacker(const PackerOptions& options);
  [[nodiscard]] std::string_view name() const noexcept override { return "pack"; }

 protected:
  void improve() override;
  [[nodiscard]] bool properties() const override { return board_.holds(); }

 private:
  Board board_;
  Repairs repairs_;
};

}  // namespace aqua::packing
