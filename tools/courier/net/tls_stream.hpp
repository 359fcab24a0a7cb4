// SPDX-License-Identifier: Apache-2.0
// TlsStream is bytes both ways over TLS: all messages between two couriers, and the bytes of
// parcels and copies where no other carrier was agreed on.
//
// Threads and errors: as Link.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "aqua/result.hpp"
#include "base/unique_fd.hpp"
#include "tools/courier/net/carrier.hpp"
#include "tools/courier/net/mutual_tls.hpp"

namespace aqua::courier {

class TlsStream final : public Carrier {
 public:
  static constexpr std::chrono::seconds kGreeting{5};  // for all until greeted()

  // Over a connected socket. The caller says which side it is, and shakes hands.
  [[nodiscard]] static Result<std::unique_ptr<TlsStream>> begin(const MutualTls& identity,
                                                                UniqueFd socket, int stop);
  [[nodiscard]] Result<void> shake_hands();
  // From now on each wait may last so long without a byte that moves.
  void greeted(std::chrono::seconds patience);

  [[nodiscard]] SSL* ssl() const noexcept { return ssl_.get(); }
  [[nodiscard]] int descriptor() const noexcept { return socket_.get(); }
  [[nodiscard]] int stop() const noexcept { return stop_; }
  [[nodiscard]] bool has_bytes() const noexcept;
  [[nodiscard]] std::chrono::seconds patience() const noexcept { return patience_; }
  // How long a wait that begins now may last without a byte that moves.
  [[nodiscard]] std::chrono::milliseconds may_wait() const;

  [[nodiscard]] Result<void> send(std::span<const std::byte> bytes) override;
  [[nodiscard]] Result<void> read(std::span<std::byte> into) override;
  [[nodiscard]] Result<int> ready_to_wait() override { return -1; }

 private:
  TlsStream(UniqueFd socket, tls::UniqueSsl ssl, int stop)
      : socket_(std::move(socket)), ssl_(std::move(ssl)), stop_(stop) {}
  template <typename Bytes, typename Move>
  [[nodiscard]] Result<void> move_all(Bytes bytes, const Move& move);
  // Until what OpenSSL's `result` asks for is there.
  [[nodiscard]] Result<void> wait_for(int result);

  UniqueFd socket_;
  tls::UniqueSsl ssl_;
  int stop_;
  std::chrono::steady_clock::time_point greeting_ends_ =
      std::chrono::steady_clock::now() + kGreeting;
  std::chrono::seconds patience_ = kGreeting;
  std::uint64_t sent_ = 0;  // bytes under the keys that there are
};

}  // namespace aqua::courier
