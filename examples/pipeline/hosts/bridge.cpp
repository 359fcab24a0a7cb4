// SPDX-License-Identifier: Apache-2.0
#include "hosts/bridge.hpp"

#include <chrono>
#include <fstream>
#include <sstream>

#include "child_process.hpp"
#include "must.hpp"

namespace aqua::pipeline {
namespace {

using example::ChildProcess;
using example::Failure;

constexpr std::chrono::seconds kIpPatience{60};  // on a busy machine
constexpr const char* kBridge = "hosts0";
constexpr const char* kNetwork = "10.99.8.";
constexpr unsigned kOwn = 254;

}  // namespace

std::string host_name(unsigned host) {
  return "h" + std::to_string(host);
}

std::string Bridge::address_of(unsigned host) {
  return kNetwork + std::to_string(host + 1);
}

std::string Bridge::own_address() {
  return kNetwork + std::to_string(kOwn);
}

Bridge::Bridge(const std::filesystem::path& directory) : directory_(directory) {
  const std::string bridge = kBridge;
  ip({"link set lo up", "link add name " + bridge + " type bridge",
      "address add " + own_address() + "/24 dev " + bridge, "link set " + bridge + " up"});
}

Bridge::~Bridge() {
  std::string links = std::string(kBridge);
  for (const unsigned host : attached_) links.append(" ").append(host_name(host));
  // A link whose host has ended may be gone already.
  const std::string all = "for one in " + links + "; do ip link delete $one 2>/dev/null; done";
  ChildProcess child("ip", {"/bin/sh", "-c", all});
  (void)child.wait(kIpPatience);
}

void Bridge::attach(unsigned host, pid_t first) {
  const std::string link = host_name(host);
  ip({"link add name " + link + " type veth peer name eth0 netns " + std::to_string(first),
      "link set " + link + " master " + kBridge, "link set " + link + " up"});
  attached_.push_back(host);
  ip({"link set lo up", "address add " + address_of(host) + "/24 dev eth0", "link set eth0 up"},
     first);
}

void Bridge::cut(unsigned host) {
  ip({"link set " + host_name(host) + " down"});
  cut_[host] = counters(host);
}

// A link ends some time after its host has been killed, as the last of the host's sockets expires.
Bridge::Counters Bridge::counters(unsigned host) const {
  if (const auto cut = cut_.find(host); cut != cut_.end()) return cut->second;
  constexpr int kBetween = 7;  // other columns of what came
  std::ifstream table("/proc/self/net/dev");
  for (std::string line; std::getline(table, line);) {
    const std::size_t colon = line.find(':'), name = line.find_first_not_of(' ');
    if (colon == std::string::npos || line.substr(name, colon - name) != host_name(host)) continue;
    std::istringstream columns(line.substr(colon + 1));
    Counters read;
    columns >> read.sent;
    std::string skipped;
    for (int i = 0; i < kBetween; ++i) columns >> skipped;
    columns >> read.received;
    return read;
  }
  throw Failure("no counters of " + host_name(host));
}

void Bridge::ip(const std::vector<std::string>& lines, pid_t in) const {
  const std::filesystem::path file = directory_ / "ip.batch";
  {
    std::ofstream batch(file);
    for (const std::string& each : lines) batch << each << '\n';
  }
  std::vector<std::string> line{"/usr/bin/env"};
  if (in != 0)
    line.insert(line.end(), {"nsenter", "--net=/proc/" + std::to_string(in) + "/ns/net"});
  line.insert(line.end(), {"ip", "-batch", file});
  ChildProcess child("ip", line);
  const auto status = child.wait(kIpPatience);
  if (!status || *status != 0)
    throw Failure("--hosts: ip " + (status ? example::describe_status(*status) : "does not end") +
                  " (it has said why)");
}

}  // namespace aqua::pipeline
