// SPDX-License-Identifier: Apache-2.0
// Session is one client of the coordinator as the load generator plays it: a lifeline, joined,
// and the text of its requests.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/ids.hpp"
#include "southbound/lifeline.hpp"
#include "wire/address.hpp"

namespace aqua::bench {

class Session {
 public:
  enum class Part : std::uint8_t { producer, consumer };

  // Connects to the daemon in `directory` (harness.hpp) and joins; ends this process otherwise.
  // Clients lend to each other within a domain.
  Session(const std::string& directory, Part part, const std::string& domain);

  [[nodiscard]] const ClientId& id() const { return id_; }
  // A whole request, as the library sends it.
  [[nodiscard]] std::string request(std::string_view method, std::string_view target,
                                    std::string_view body = {}) const;
  // For what is not measured: one request, answered with 200 or this process ends. The body.
  std::string call(std::string_view method, std::string_view target,
                   const std::string& body = {}) const;
  // Puts up slabs `first` to `first + count - 1` of kSlabBytes, in generation 1.
  void offer(std::uint32_t first, std::uint32_t count) const;
  // Borrows `count` slabs; the number of the first.
  std::uint32_t borrow(std::uint32_t count) const;

  static constexpr std::uint64_t kSlabBytes = std::uint64_t{2} << 20;
  static constexpr std::uint64_t kRoom = std::uint64_t{1} << 50;  // exits it claims to have

 private:
  ClientId id_ = random_id<ClientTag>();
  wire::Address coordinator_;
  southbound::Lifeline lifeline_;
};

// A producer and the consumer that will be paired with it, in a domain of their own.
struct Couple {
  explicit Couple(const std::string& directory)
      : domain(to_string(random_id<struct DomainTag>())),
        producer(directory, Session::Part::producer, domain),
        consumer(directory, Session::Part::consumer, domain) {}
  std::string domain;
  Session producer;
  Session consumer;
};

// The number behind `name` in JSON that the coordinator wrote; 0 where it is not there.
[[nodiscard]] std::uint64_t number_in(std::string_view json, std::string_view name);

}  // namespace aqua::bench
