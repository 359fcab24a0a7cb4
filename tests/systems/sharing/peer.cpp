// SPDX-License-Identifier: Apache-2.0
// A publisher or reader of weights in a process of its own. It does what each packet on its socket
// says and answers with "ok" or what went wrong (obey.hpp):
//   publish VERSION SEED   publishes the small model, with bytes of the seed
//   attach VERSION         attaches that version, or the newest for "-"; answers its version
//   check SEED             "ok" when every byte is the seed's
//   suspend, resume
//   load FILE VERSION      publishes what the file has, under the small model's name
//   copy VERSION           copies that version, or the newest for "-", to emu:1
//   check-copy SEED        "ok" when every byte of it there is the seed's
//   trim                   moves what nobody reads from emu:0 to host memory
//   bring-back VERSION     copies that version, or the newest for "-", from there to emu:0
//   coordinator            "connected" or "away"; the one that it was started with
#include <cstring>
#include <istream>
#include <optional>
#include <string>

#include "aqua/published_memory.hpp"
#include "aqua/runtime.hpp"
#include "aqua/sharing/copy_weights.hpp"
#include "aqua/sharing/load_weights.hpp"
#include "aqua/sharing/shared_weights.hpp"
#include "aqua/sharing/trim_weights.hpp"
#include "aqua/sharing/weights_publisher.hpp"
#include "tests/keeper/obey.hpp"
#include "tests/systems/sharing/small_model.hpp"
#include "tests/systems/sharing/small_runtime.hpp"

namespace {

using namespace aqua::literals;
using namespace aqua::sharing;
using aqua::test::peer::outcome;

class Peer {
 public:
  Peer(std::string keeper, const std::string& coordinator)
      : keeper_(std::move(keeper)), runtime_(open_small("emu:0", false, coordinator)) {}

  std::string obey(const std::string& verb, std::istream& words) {
    if (verb == "publish") return publish(words);
    if (verb == "attach") return attach(words);
    if (verb == "check") return check(*weights_, words);
    if (verb == "suspend") return outcome(weights_->suspend());
    if (verb == "resume") return outcome(weights_->resume());
    if (verb == "load") return load(words);
    if (verb == "copy") return copy(words);
    if (verb == "check-copy") return check_copy(words);
    if (verb == "trim") {
      return outcome(trim_weights(runtime_, host(), {.bytes = 1_GiB, .keeper = keeper_}));
    }
    if (verb == "bring-back") return bring_back(words);
    if (verb == "coordinator") return runtime_.status().connected ? "connected" : "away";
    return "what is '" + verb + "'?";
  }

 private:
  std::string publish(std::istream& words) {
    std::string version;
    std::uint64_t seed = 0;
    words >> version >> seed;
    const Manifest manifest = small_model(version);
    auto publisher = WeightsPublisher::begin(runtime_, manifest, keeper_);
    if (!publisher.ok()) return outcome(publisher);
    if (auto filled = fill(*publisher, manifest, seed); !filled.ok()) return outcome(filled);
    return outcome(publisher->commit());
  }
  std::string attach(std::istream& words) {
    WeightsOptions options{.model = "small", .keeper = keeper_};
    words >> options.version;
    if (options.version == "-") options.version.clear();
    weights_.reset();
    auto attached = SharedWeights::attach(runtime_, options);
    if (!attached.ok()) return outcome(attached);
    weights_ = std::move(*attached);
    return weights_->manifest().version;
  }
  std::string load(std::istream& words) {
    std::string file;
    LoadOptions options{.model = "small", .slab_bytes = 2_MiB, .keeper = keeper_};
    words >> file >> options.version;
    return outcome(load_weights(runtime_, {file}, options));
  }
  std::string copy(std::istream& words) {
    CopyOptions options{
        .model = "small", .from = aqua::PublishedMemory::device_of(runtime_), .keeper = keeper_};
    words >> options.version;
    if (options.version == "-") options.version.clear();
    return outcome(copy_weights(there_, options));
  }
  std::string bring_back(std::istream& words) {
    CopyOptions options{.model = "small", .source = &host(), .keeper = keeper_};
    words >> options.version;
    if (options.version == "-") options.version.clear();
    return outcome(copy_weights(runtime_, options));
  }
  std::string check_copy(std::istream& words) {
    auto attached = SharedWeights::attach(there_, {.model = "small", .keeper = keeper_});
    if (!attached.ok()) return outcome(attached);
    return check(*attached, words);
  }
  static std::string check(SharedWeights& weights, std::istream& words) {
    std::uint64_t seed = 0;
    words >> seed;
    for (std::size_t i = 0; i < weights.manifest().tensors.size(); ++i) {
      if (weights.manifest().tensors[i].view_of) continue;
      const WeightTensor tensor = weights.tensor(i);
      const auto expected = small_bytes(tensor.bytes, seed, i);
      if (std::memcmp(tensor.address, expected.data(), expected.size()) != 0)
        return "wrong bytes in " + tensor.info->name;
    }
    return outcome(weights.verify());
  }

  aqua::Runtime& host() {
    if (!host_) host_ = open_small("host");
    return *host_;
  }

  const std::string keeper_;
  aqua::Runtime runtime_, there_ = open_small("emu:1");
  std::optional<aqua::Runtime> host_{};
  std::optional<SharedWeights> weights_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) return 2;
  Peer publisher_or_reader(argv[1], argc == 3 ? argv[2] : "none");
  aqua::test::peer::obey_forever(publisher_or_reader);
}
