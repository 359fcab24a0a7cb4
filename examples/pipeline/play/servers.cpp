// SPDX-License-Identifier: Apache-2.0
#include "play/servers.hpp"

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>

#include "aqua/kv_stream/streamer.hpp"
#include "daemon_program.hpp"
#include "must.hpp"
#include "play/start.hpp"

namespace aqua::pipeline {
namespace {

using example::ChildProcess;
using nlohmann::json;

constexpr std::chrono::seconds kStartPatience{60};  // for a start, on a busy machine

std::filesystem::path make(const std::filesystem::path& folder) {
  std::filesystem::create_directory(folder);
  return folder;
}

}  // namespace

TwoServers::TwoServers(const Options& options, const std::filesystem::path& directory)
    : options_(options),
      prefill_(make(directory / kPrefill)),
      decode_(make(directory / kDecode)),
      prefill_keeper_(start_keeper(options, prefill_)),
      decode_keeper_(start_keeper(options, decode_)) {
  write_config(decode_, kDecode, listening("0"));
  const std::string line = start_courier(decode_courier_, decode_, options.decode_network);
  const std::string port = line.substr(line.rfind(' ') + 1);
  write_config(decode_, kDecode, listening(port));  // for the next one
  write_config(prefill_, kPrefill, options.prefill ? carrying(port) : mirroring(port));
  start_courier(prefill_courier_, prefill_, options.prefill_network);
}

void TwoServers::replace_courier(const std::string& pipeline) {
  if (pipeline == kDecode) {
    start_courier(decode_courier_, decode_, options_.decode_network);
  } else {
    start_courier(prefill_courier_, prefill_, options_.prefill_network);
  }
}

void TwoServers::lose_first() {
  prefill_keeper_.signal(SIGKILL);
  prefill_courier_.reset();
}

std::string TwoServers::start_courier(std::optional<ChildProcess>& courier,
                                      const std::filesystem::path& server,
                                      const std::string& network) const {
  std::vector<std::string> line = role_line("--courier-role", server);
  if (!network.empty()) line.insert(line.end(), {"--network", network});
  if (!options_.courier.empty()) line.insert(line.end(), {"--courier-binary", options_.courier});
  // One that there is already is killed by this.
  courier.emplace(server.filename().string() + "'s courier", line);
  return example::await_line(*courier, "listening", kStartPatience);
}

void TwoServers::write_config(const std::filesystem::path& server, const std::string& name,
                              const json& what) const {
  const std::filesystem::path certificates = std::filesystem::absolute(options_.two_servers);
  json config{{"keeper", example::keeper_socket(server)},
              {"certificate", certificates / (name + ".test.pem")},
              {"key", certificates / (name + ".test.key")},
              {"authority", certificates / "authority.pem"}};
  config.update(what);
  std::ofstream(server / "courier.json") << config.dump(2);
}

json TwoServers::listening(const std::string& port) const {
  const unsigned connections =
      options_.prefill ? options_.prefill->processes() * options_.decode->processes() : 1;
  return {{"listen",
           {{"address", options_.decode_address + ":" + port},
            {"peers", {std::string(kPrefill) + ".test"}},
            {"copies", !options_.prefill},
            {"connections", connections}}}};
}

json TwoServers::mirroring(const std::string& port) const {
  return {{"mirror",
           {{{"peer", std::string(kDecode) + ".test"},
             {"address", options_.decode_address + ":" + port}}}}};
}

json TwoServers::carrying(const std::string& port) const {
  json routes = json::array();
  for (unsigned from = 0; from < options_.prefill->processes(); ++from) {
    for (unsigned to = 0; to < options_.decode->processes(); ++to) {
      routes.push_back({{"pool", kStreams},
                        {"from", kv_stream::Streamer::role(kPrefill, from)},
                        {"to", kv_stream::Streamer::role(kDecode, to)},
                        {"peer", std::string(kDecode) + ".test"},
                        {"address", options_.decode_address + ":" + port},
                        {"parcels", options_.batch}});
    }
  }
  return {{"carry", routes}};
}

}  // namespace aqua::pipeline
