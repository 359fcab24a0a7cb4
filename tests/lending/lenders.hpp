// SPDX-License-Identifier: Apache-2.0
// The suites in which another process lends four slabs and this one borrows.
#pragma once

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/concat.hpp"
#include "tests/lending/peer_process.hpp"
#include "tests/lending/support.hpp"
#include "tests/lending/two_processes.hpp"

namespace aqua::lending {

class Lenders : public TwoProcesses {
 protected:
  void begin() override {
    peer_ = std::make_unique<Peer>(GetParam());
    leases_ = lent_by(*peer_);
    gpu_ = open_gpu(1, GetParam());
    importer_ = open_importer(*gpu_);
  }
  [[nodiscard]] std::vector<LeasedSlab> lent_by(Peer& peer) const {
    std::istringstream answer(peer.ask(concat("export ", path_.str(), " 4")));
    std::string producer;
    std::size_t bytes = 0;
    answer >> producer >> bytes;
    std::vector<LeasedSlab> leases(4);
    for (LeasedSlab& lease : leases) {
      std::string secret;
      answer >> lease.key.index >> lease.key.generation >> secret;
      lease.key.producer = parse_id<ClientTag>(producer).value();
      lease.secret = parse_id<LeaseTag>(secret).value();
      lease.bytes = bytes;
      lease.exchange = path_.str();
    }
    return leases;
  }
  // Until the peer says of slab `i`, say, "2 free".
  [[nodiscard]] bool becomes(std::size_t i, const std::string& custody) {
    return eventually(
        [&] { return peer_->ask(concat("custody ", leases_[i].key.index)) == custody; });
  }
  // The address of a slab that is imported.
  [[nodiscard]] std::byte* at(const LeasedSlab& lease) const {
    return importer_->base() + importer_->find(lease.key).value().offset;
  }
  void write(const LeasedSlab& lease, std::uint32_t seed) {
    device::upload(*gpu_, at(lease), bytes_like(seed, lease.bytes));
  }
  [[nodiscard]] bool holds(const LeasedSlab& lease, const std::vector<std::byte>& bytes) {
    return device::download(*gpu_, at(lease), lease.bytes) == bytes;
  }
  [[nodiscard]] bool holds(const LeasedSlab& lease, std::uint32_t seed) {
    return holds(lease, bytes_like(seed, lease.bytes));
  }

  SocketPath path_;
  std::unique_ptr<Peer> peer_;
  std::vector<LeasedSlab> leases_;
  std::unique_ptr<device::Device> gpu_;
  std::unique_ptr<Importer> importer_;
};

}  // namespace aqua::lending
