// SPDX-License-Identifier: Apache-2.0
// A courier in a process of its own (obey.hpp), with this file of options. It knows
//   start      answers the port at which it listens
//   counters   answers how many parcels it has sent, received and gone on with
//   lost       answers how many connections have ended
//   up         answers how many of its connections to others are up
//   over-ucx   answers how many of these have UCX move the bytes
//   mirrored   answers how many copies it has sent
//   received-bytes  answers how many bytes of parcels have come
#include <csignal>
#include <istream>
#include <memory>
#include <string>
#include <utility>

#include "tests/keeper/obey.hpp"
#include "tools/courier/courier.hpp"
#include "tools/courier/options.hpp"

namespace {

using namespace aqua;
using test::peer::outcome;

class CourierPeer {
 public:
  explicit CourierPeer(std::string path) : path_(std::move(path)) {}

  std::string obey(const std::string& verb, std::istream& /*words*/) {
    if (verb == "start") return start();
    if (courier_ == nullptr) return "not started";
    if (verb == "counters") {
      const auto& counters = courier_->counters();
      return std::to_string(counters.sent) + " " + std::to_string(counters.received) + " " +
             std::to_string(counters.resumed);
    }
    if (verb == "lost") return std::to_string(courier_->counters().lost_links.load());
    if (verb == "up") return std::to_string(courier_->connections_up().all);
    if (verb == "over-ucx") return std::to_string(courier_->connections_up().over_ucx);
    if (verb == "received-bytes") {
      return std::to_string(courier_->counters().received_bytes.load());
    }
    if (verb == "mirrored") return std::to_string(courier_->counters().mirrored.load());
    return "what is '" + verb + "'?";
  }

 private:
  std::string start() {
    auto options = courier::read_options(path_);
    if (!options.ok()) return outcome(options);
    auto started =
        courier::Courier::start(*std::move(options), [](courier::Event, const std::string&) {});
    if (!started.ok()) return outcome(started);
    courier_ = *std::move(started);
    return std::to_string(courier_->port());
  }

  const std::string path_;
  std::unique_ptr<courier::Courier> courier_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::signal(SIGPIPE, SIG_IGN);
  CourierPeer courier(argv[1]);
  test::peer::obey_forever(courier);
}
