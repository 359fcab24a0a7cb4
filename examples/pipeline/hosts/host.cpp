// SPDX-License-Identifier: Apache-2.0
#include "hosts/host.hpp"

#include <chrono>
#include <csignal>
#include <fstream>

#include "hosts/bridge.hpp"
#include "hosts/routes.hpp"
#include "must.hpp"
#include "play/start.hpp"

namespace aqua::pipeline {
namespace {

using example::ChildProcess;

constexpr std::chrono::seconds kDaemonPatience{60};  // for a start or an end, on a busy machine

std::filesystem::path make_folder(const Options& options, unsigned number,
                                  const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  const std::string own = certificate_of(number);
  for (const std::string& file : {own + ".pem", own + ".key", std::string("authority.pem")})
    std::filesystem::copy_file(options.certificates / file, folder / file);
  return folder;
}

// The current folder of a process that has entered a host is /: its program is named by an absolute
// path.
void name_program(std::vector<std::string>& line, const char* option,
                  const std::filesystem::path& program) {
  if (!program.empty()) line.insert(line.end(), {option, std::filesystem::absolute(program)});
}

ChildProcess begin_namespaces(const std::string& name, const std::filesystem::path& folder) {
  std::vector<std::string> line = role_line("--host-role", folder);
  line.insert(line.end(), {"--server", name});
  return {"host " + name, line};
}

}  // namespace

Host::Host(const Options& options, unsigned number, const std::filesystem::path& folder)
    : options_(options),
      name_(host_name(number)),
      address_(Bridge::address_of(number)),
      folder_(make_folder(options, number, folder)),
      namespaces_(begin_namespaces(name_, folder_)),
      first_(example::parse_line(example::await_line(namespaces_, "host", kDaemonPatience))
                 .at("host")
                 .get<pid_t>()) {}

std::vector<std::string> Host::line(const char* role) const {
  std::vector<std::string> made = role_line(role, folder_);
  made.insert(made.end(), {"--enter", std::to_string(first_), "--server", name_});
  return made;
}

ChildProcess Host::begin(const std::string& what, const std::vector<std::string>& line) const {
  return {name_ + "'s " + what, line};
}

void Host::begin_etcd() {
  etcd_ready_.emplace(folder_);
  auto line = this->line("--etcd-role");
  line.insert(line.end(), {"--etcd", etcd_members(options_.hosts), "--address", address_});
  name_program(line, "--etcd-binary", options_.etcd_program);
  etcd_.emplace(begin("etcd", line));
}

void Host::await_etcd() {
  etcd_ready_->await();
}

void Host::begin_coordinator_and_keeper() {
  auto line = this->line("--coordinator-role");
  line.insert(line.end(), {"--etcd", etcd_clients(options_.hosts), "--server-ttl-ms",
                           std::to_string(options_.server_ttl_ms)});
  name_program(line, "--coordinator-binary", options_.coordinator_program);
  coordinator_.emplace(begin("coordinator", line));
  line = this->line("--keeper-role");
  name_program(line, "--keeper-binary", options_.keeper);
  keeper_.emplace(begin("keeper", line));
  for (ChildProcess* const each : {&*coordinator_, &*keeper_})
    example::await_line(*each, "listening", kDaemonPatience);
}

void Host::end_courier() {
  if (!courier_) return;
  hear_courier(example::kNow);
  courier_->signal(SIGTERM);  // to who stays behind, so that it has ended in the host by then
  if (!courier_->wait(kDaemonPatience)) throw example::Failure(courier_->name() + " does not end");
  courier_.reset();
}

void Host::begin_courier(const nlohmann::json& file) {
  end_courier();
  courier_file_ = file;
  std::ofstream(folder_ / "courier.json") << file.dump(2);
  auto line = this->line("--courier-role");
  name_program(line, "--courier-binary", options_.courier);
  courier_.emplace(begin("courier", line));
  const auto deadline = std::chrono::steady_clock::now() + kDaemonPatience;
  while (!hear_courier(std::chrono::milliseconds(100))) {
    if (courier_->lines().ended()) example::throw_ended(*courier_);
    if (std::chrono::steady_clock::now() >= deadline)
      throw example::Failure(courier_->name() + " does not listen");
  }
}

bool Host::hear_courier(std::chrono::milliseconds patience) {
  bool listens = false;
  for (const std::string& said : courier_->lines().read(patience)) {
    const auto has = [&](const char* words) { return said.find(words) != std::string::npos; };
    listens = listens || has("listening");
    if (has("bytes over UCX")) ++carriers_.ucx;
    if (has("connected") && !has("bytes over UCX")) ++carriers_.tls;
  }
  return listens;
}

Host::Carriers Host::carriers() {
  if (courier_) hear_courier(example::kNow);
  return carriers_;
}

void Host::lose() {
  (void)::kill(first_, SIGKILL);
}

}  // namespace aqua::pipeline
