// SPDX-License-Identifier: Apache-2.0
// The second process of the lending tests: lending_peer KIND, of device_kinds(). Commands come as
// text on descriptor 3:
//   id HEX                                  be this client from now on
//   import PATH PRODUCER INDEX GEN SECRET BYTES
//   fill INDEX SEED, check INDEX SEED       write and compare the bytes of a mapped slab
//   clean INDEX                             "ok" when they are all zero
//   churn INDEX                             write it again and again until killed
//   give_back INDEX
//   drop                                    close every mapping and socket, give nothing back
//   fork                                    a child that keeps all files, for two minutes; its pid
//   export PATH SLABS                       lend; answers PRODUCER BYTES, INDEX GEN SECRET of each
//   custody INDEX                           "GEN free|held|scrubbing"
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <span>
#include <sstream>
#include <string>

#include "base/concat.hpp"
#include "base/socket/unix_socket.hpp"
#include "tests/base/code_of.hpp"
#include "tests/lending/churn.hpp"
#include "tests/lending/peer_process.hpp"
#include "tests/lending/support.hpp"

namespace aqua::lending {
namespace {

class Role {
 public:
  explicit Role(const std::string& kind) : kind_(kind), gpu_(open_gpu(1, kind)) {}

  std::string answer(const std::string& text) {
    std::istringstream in(text);
    std::string command;
    in >> command;
    if (command == "id") return be(in);
    if (command == "import") return import(in);
    if (command == "export") return lend(in);
    if (command == "drop") return importer_.reset(), "ok";
    if (command == "fork") return fork();
    std::uint32_t index = 0;
    std::uint32_t seed = 0;
    in >> index >> seed;
    if (command == "custody") return custody(index);
    const auto found = keys_.find(index);
    if (found == keys_.end()) return "unknown slab";
    if (command == "give_back") return code_of(importer_->give_back(found->second));
    const ImportedSlab slab = importer_->find(found->second).value();
    std::byte* const at = importer_->base() + slab.offset;
    const auto holds = [&](const std::vector<std::byte>& bytes) {
      return device::download(*gpu_, at, slab.bytes) == bytes ? "ok" : "other bytes";
    };
    if (command == "fill") return device::upload(*gpu_, at, bytes_like(seed, slab.bytes)), "ok";
    if (command == "check") return holds(bytes_like(seed, slab.bytes));
    if (command == "clean") return holds(zeroes(slab.bytes));
    if (command == "churn") return churn_ = std::make_unique<Churn>(*gpu_, at, slab.bytes), "ok";
    return "unknown command";
  }

 private:
  std::string be(std::istream& in) {
    std::string id;
    in >> id;
    importer_ = open_importer(*gpu_, 64_MiB, parse_id<ClientTag>(id).value());
    return "ok";
  }

  std::string import(std::istream& in) {
    LeasedSlab lease;
    std::string producer;
    std::string secret;
    in >> lease.exchange >> producer >> lease.key.index >> lease.key.generation >> secret >>
        lease.bytes;
    lease.key.producer = parse_id<ClientTag>(producer).value();
    lease.secret = parse_id<LeaseTag>(secret).value();
    if (importer_ == nullptr) importer_ = open_importer(*gpu_);
    const auto imported = importer_->import({&lease, 1});
    if (imported.ok()) keys_[lease.key.index] = lease.key;
    return code_of(imported);
  }

  std::string lend(std::istream& in) {
    std::string path;
    std::size_t slabs = 0;
    in >> path >> slabs;
    lender_ = std::make_unique<Lender>(slabs, kind_, path);
    std::string text = concat(to_string(lender_->id), " ", lender_->slab_bytes());
    for (std::size_t i = 0; i < slabs; ++i) {
      const SlabStatus& slab = lender_->offered(i);
      text += concat(" ", slab.index, " ", slab.generation, " ", to_string(slab.secret));
    }
    return text;
  }

  std::string custody(std::uint32_t index) {
    for (const SlabStatus& slab : lender_->exporter().status()) {
      if (slab.index != index) continue;
      const char* const names[] = {"free", "held", "scrubbing"};
      return concat(slab.generation, " ", names[static_cast<int>(slab.custody)]);
    }
    return "unknown slab";
  }

  static std::string fork() {
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(test::kPeerSocket);
      ::alarm(120);  // should the test not come to kill it
      for (;;) ::pause();
    }
    return child > 0 ? concat(child) : "fork failed";
  }

  const std::string kind_;
  std::unique_ptr<device::Device> gpu_;
  std::unique_ptr<Lender> lender_;
  std::unique_ptr<Importer> importer_;
  std::map<std::uint32_t, SlabKey> keys_;
  std::unique_ptr<Churn> churn_;
};

}  // namespace
}  // namespace aqua::lending

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  aqua::lending::Role role(argv[1]);
  for (;;) {
    const auto message =
        aqua::receive_message(aqua::test::kPeerSocket, 4096, std::chrono::hours(1));
    if (!message.ok() || message->bytes.empty()) return 0;
    const std::string text =
        role.answer({reinterpret_cast<const char*>(message->bytes.data()), message->bytes.size()});
    if (!aqua::send_message(aqua::test::kPeerSocket, std::as_bytes(std::span(text)), {},
                            std::chrono::seconds(10))
             .ok()) {
      return 1;
    }
  }
}
