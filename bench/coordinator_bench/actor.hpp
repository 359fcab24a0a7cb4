// SPDX-License-Identifier: Apache-2.0
// Actors say what a client asks next, one request at a time.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coordinator_bench/http_loop.hpp"
#include "coordinator_bench/session.hpp"
#include "wire/slabs.hpp"

namespace aqua::bench {

enum class Kind : std::uint8_t { renewal, lease, give_back, upkeep };
inline constexpr std::size_t kKinds = 4;

struct Ask {
  Kind kind{};
  std::string text;
};

class Actor {
 public:
  virtual ~Actor() = default;
  [[nodiscard]] virtual const Ask& next() = 0;
  // The reply to what next() said, with status 200.
  virtual void took(const Reply& reply) = 0;
};

class Renewer final : public Actor {
 public:
  explicit Renewer(const Session& session)
      : ask_{Kind::renewal, session.request("POST", "/v1/clients/self/renew")} {}
  [[nodiscard]] const Ask& next() override { return ask_; }
  void took(const Reply&) override {}

 private:
  const Ask ask_;
};

// Borrows one slab, gives it back, and again; its producer scrubs kScrubs at one time (upkeep).
class Borrower final : public Actor {
 public:
  static constexpr std::uint32_t kScrubs = 32;
  static constexpr std::uint32_t kSlabs = 2 * kScrubs;

  // The producer has offered kSlabs. The couple must outlive this.
  explicit Borrower(const Couple& couple);

  [[nodiscard]] const Ask& next() override { return ask_; }
  void took(const Reply& reply) override;

 private:
  void give_back(std::string_view lease);
  void after_return();

  const Couple& couple_;
  const Ask lease_;
  Ask ask_;
  std::vector<wire::Scrub> returned_;
};

}  // namespace aqua::bench
