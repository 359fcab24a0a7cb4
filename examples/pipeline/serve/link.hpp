// SPDX-License-Identifier: Apache-2.0
// Link is one end of a connected socket between two processes of a pipeline; Listener is where
// others connect. Both ends are one program: values cross as they lie in memory.
//
// Threads: one at a time. Calls block, and call what while_waiting() was given meanwhile; the
//          orchestrator ends who waits for ever.
// Errors:  Failure; NeighbourGone, which names the other end, where that has ended.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "fd.hpp"
#include "must.hpp"
#include "serve/orders.hpp"

namespace aqua::pipeline {

struct NeighbourGone : example::Failure {
  using Failure::Failure;
};

class Link {
 public:
  Link() = default;
  Link(std::string peer, example::Fd socket) : peer_(std::move(peer)), socket_(std::move(socket)) {}
  // `address`: as serve/address.hpp has it. `meanwhile`: as while_waiting() is given, which may
  // throw: another host that was lost never answers.
  [[nodiscard]] static Link connect(std::string peer, const std::string& address,
                                    std::function<void()> meanwhile = {});

  [[nodiscard]] bool open() const { return socket_.valid(); }
  void name(std::string peer) { peer_ = std::move(peer); }
  // Is called again and again while send() or receive() waits for the other end.
  void while_waiting(std::function<void()> does) { meanwhile_ = std::move(does); }
  // All of it, or NeighbourGone.
  void send(std::span<const std::byte> bytes);
  void receive(std::span<std::byte> bytes);

  template <typename T>
  requires std::is_trivially_copyable_v<T>
  void send_values(std::span<const T> values) { send(std::as_bytes(values)); }
  template <typename T>
  requires std::is_trivially_copyable_v<T>
  void receive_values(std::span<T> values) { receive(std::as_writable_bytes(values)); }

 private:
  // Until the socket is ready for that, or ended.
  void await(short events) const;

  std::string peer_{};
  example::Fd socket_{};
  std::function<void()> meanwhile_{};
};

class Listener {
 public:
  explicit Listener(const std::string& address);
  // Where it listens.
  [[nodiscard]] const std::string& address() const { return address_; }
  // NeighbourGone where an order comes first, or has come: who is waited for has died, and the
  // orchestrator says how to go on.
  [[nodiscard]] Link accept(const Orders& orders);

 private:
  example::Fd socket_;
  std::string address_;
};

}  // namespace aqua::pipeline
