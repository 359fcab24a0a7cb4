// SPDX-License-Identifier: Apache-2.0
#include "play/processes.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "daemon_program.hpp"
#include "must.hpp"
#include "play/start.hpp"

namespace aqua::pipeline {
namespace {

using example::Failure;

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{120};  // for a start or an end, on a busy machine

}  // namespace

void Processes::start(const std::optional<Place>& place) {
  const std::string member = name_ + " " + std::to_string(++started_);
  StageProcess wanted{.pipeline = name_,
                      .shape = shape_,
                      .place = place,
                      .member = member,
                      .coordinator = daemons_.coordinator().address(),
                      .directory = directory_};
  unsigned on = 0;
  if (const Hosts* const hosts = daemons_.hosts()) {
    on = hosts->host_for(name_, place);
    const Host& host = hosts->at(on);
    wanted.directory = host.folder();
    wanted.coordinator = example::coordinator_address(host.folder());
    wanted.host = host.first();
    wanted.address = host.address();
  }
  if (place) asked_[member] = *place;
  processes_.emplace(member, Process{.child = start_stage(options_, wanted), .host = on});
}

void Processes::tell_hosts() {
  if (daemons_.hosts() == nullptr) return;
  std::vector<unsigned> on;
  for (const std::string& member : seats_) on.push_back(processes_.at(member).host);
  daemons_.hosts()->seated(name_, on);
}

Processes::Processes(const std::string& name, const PipelineShape& shape, const Options& options,
                     const std::filesystem::path& directory, Daemons& daemons)
    : name_(name),
      shape_(shape),
      options_(options),
      directory_(directory),
      daemons_(daemons),
      group_(daemons.coordinator(), name, shape, options.model_shape()),
      lost_(shape.stages, false) {
  for (unsigned stage = 0; stage < shape.stages; ++stage) {
    for (unsigned rank = 0; rank < shape.ranks; ++rank) start(Place{name, shape, stage, rank});
  }
  for (bool connected = false; !connected;) {
    (void)next_term();
    MeasuredCopies none;
    connected = (runs_ || survey({}, none)) && connect({}, 0);
  }
  times_ = {};
}

Processes::Process* Processes::seated(std::size_t seat) {
  const auto found = processes_.find(seats_.at(seat));
  return found == processes_.end() ? nullptr : &found->second;
}

void Processes::order(Order order) {
  order.term = term_;
  for (unsigned rank = 0; rank < shape_.ranks; ++rank) tell(rank, order);
}

void Processes::watch(std::vector<pollfd>& into) const {
  for (const auto& [member, process] : processes_)
    into.push_back({process.child.pidfd(), POLLIN, 0});
  into.push_back({group_.fd(), POLLIN, 0});
  daemons_.watch(into);
  const auto found = processes_.find(seats_.at(last()));
  if (found != processes_.end()) into.push_back({found->second.child.output(), POLLIN, 0});
}

void Processes::Process::read() {
  for (const std::string& line : child.lines().read(example::kNow)) {
    auto message = example::parse_line(line);
    if (message.contains("token")) {
      tokens.push_back(message.get<Sampled>());
    } else {
      words.push_back(std::move(message));
    }
  }
}

std::vector<Sampled> Processes::take() {
  Process* const process = seated(last());
  if (process == nullptr) return {};
  process->read();
  return std::exchange(process->tokens, {});
}

void Processes::tell(std::size_t seat, const nlohmann::json& message) {
  if (Process* const process = seated(seat)) (void)process->child.send(message, [this] { look(); });
}

bool Processes::adopts(const GroupNews& news) {
  if (news.term <= term_ || news.state == GroupState::forming || news.state == GroupState::waiting)
    return false;
  std::vector<std::string> seats(shape_.processes());
  for (const GroupPeer& peer : news.members) {
    if (peer.rank && processes_.contains(peer.name))
      seats[peer.rank->stage * shape_.ranks + peer.rank->tensor] = peer.name;
  }
  // One that has died already: the group has not heard of it yet.
  if (std::ranges::find(seats, std::string()) != seats.end()) return false;
  // look() may have come before the term began.
  if (!times_.noticed) times_.noticed = group_.began_after(term_).value_or(Clock::now());
  term_ = news.term;
  runs_ = news.state == GroupState::running;
  seats_ = std::move(seats);
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    if (connected_.empty() || connected_[i] != seats_[i]) lost_[i / shape_.ranks] = true;
  }
  return true;
}

void Processes::wait_for_news(int also) {
  std::vector<pollfd> news{{group_.fd(), POLLIN, 0}};
  daemons_.watch(news);
  if (also >= 0) news.push_back({also, POLLIN, 0});
  for (const auto& [member, process] : processes_)
    news.push_back({process.child.pidfd(), POLLIN, 0});
  (void)::poll(news.data(), news.size(), static_cast<int>(options_.one_wait().count()));
}

std::vector<Sampled> Processes::next_term() {
  std::vector<Sampled> said;
  do {
    const auto deadline = Clock::now() + kPatience;
    for (;;) {
      look();
      const GroupNews news = group_.heard();
      bury_and_replace(news, said);
      if (adopts(news)) break;
      if (Clock::now() > deadline) throw Failure(name_ + ": no term in which all ranks are taken");
      wait_for_news();
    }
  } while (!await_all(false));
  std::ranges::move(take(), std::back_inserter(said));
  return said;
}

std::optional<std::vector<std::vector<Mark>>> Processes::survey(
    const std::vector<KnownSequence>& sequences, MeasuredCopies& copies) {
  for (std::size_t seat = 0; seat < seats_.size(); ++seat)
    tell(seat, Survey{.term = term_, .sequences = sequences});
  const Mark all{.cached = UINT32_MAX, .replica = UINT32_MAX, .untouched = true};
  std::vector<std::vector<Mark>> stages(shape_.stages, std::vector<Mark>(sequences.size(), all));
  for (std::size_t seat = 0; seat < seats_.size(); ++seat) {
    const auto heard = hear(seat, "surveyed");
    if (!heard) return {};
    const auto surveyed = heard->get<Surveyed>();
    copies.bytes += surveyed.copies.bytes;
    copies.seconds += surveyed.copies.seconds;
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      Mark& least = stages[seat / shape_.ranks][i];
      const Mark& its = surveyed.marks.at(i);
      least.cached = std::min(least.cached, its.cached);
      least.replica = std::min(least.replica, std::max(its.replica, its.cached));
      least.untouched = least.untouched && its.untouched;
    }
  }
  return stages;
}

bool Processes::connect(const std::vector<Resume>& sequences, Word begun) {
  for (std::size_t seat = 0; seat < seats_.size(); ++seat)
    tell(seat, Connect{term_, sequences, begun, addresses_});
  if (!await_all(true)) return false;
  times_.connected = Clock::now();
  if (!await_running()) return false;
  connected_ = seats_;
  lost_.assign(shape_.stages, false);
  tell_hosts();
  keep_a_standby();
  return true;
}

bool Processes::await_all(bool connected) {
  addresses_.resize(seats_.size());
  for (std::size_t seat = 0; seat < seats_.size(); ++seat) {
    for (;;) {
      const auto heard = hear(seat, "connected");
      if (!heard) return false;
      auto wired = heard->get<Wired>();
      if (wired.connected != connected) continue;
      addresses_[seat] = std::move(wired.address);
      break;
    }
  }
  return true;
}

bool Processes::await_running() {
  const auto deadline = Clock::now() + kPatience;
  for (;;) {
    if (broken()) return false;
    // Last, since broken() takes news, too: of what comes after these the wait below ends.
    if (const auto runs = runs_in(term_, group_.heard())) return *runs;
    if (Clock::now() > deadline) throw Failure(name_ + ": the group does not run");
    wait_for_news();
  }
}

std::optional<nlohmann::json> Processes::hear(std::size_t seat, const char* kind) {
  const auto deadline = Clock::now() + kPatience;
  for (;;) {
    Process* const process = seated(seat);
    if (process == nullptr) return {};
    process->read();
    while (!process->words.empty()) {
      const nlohmann::json& next = process->words.front();
      const auto of = next.at(next.contains("term") ? "term" : "surveyed").get<Word>();
      if (of > term_) return {};
      const nlohmann::json word = std::move(process->words.front());
      process->words.pop_front();
      if (of == term_ && word.contains(kind)) return word;
    }
    if (broken()) return {};
    if (Clock::now() > deadline)
      throw Failure(process->child.name() + " does not listen or connect");
    wait_for_news(process->child.output());
  }
}

void Processes::signal(unsigned stage, unsigned rank, int number) {
  Process* const process = seated(stage * shape_.ranks + rank);
  if (process == nullptr) return;
  process->child.signal(number);
  if (number == SIGKILL) lost_a_rank();
}

void Processes::signal_standby(int number) {
  for (auto& [member, process] : processes_) {
    if (std::ranges::find(seats_, member) == seats_.end()) process.child.signal(number);
  }
}

void Processes::lose_server(const std::filesystem::path& next) {
  for (auto& [member, process] : processes_) process.child.signal(SIGKILL);
  lost_a_rank();
  directory_ = next;
}

// All hear that it is the end before the first of them ends: that begins a term.
bool Processes::finish() {
  bool in_peace = true;
  // Who is destroyed is killed.
  std::erase_if(processes_, [this](const auto& each) { return is_cut_off(each.second); });
  for (auto& [member, process] : processes_)
    (void)process.child.send(nlohmann::json{{"last", true}}, [this] { look(); });
  for (auto& [member, process] : processes_) process.child.close_input();
  for (auto& [member, process] : processes_) {
    const auto deadline = Clock::now() + kPatience;
    auto status = process.child.wait(options_.one_wait());
    for (; !status && Clock::now() < deadline; look())
      status = process.child.wait(options_.one_wait());
    if (!status) throw Failure(process.child.name() + " does not end");
    const bool killed = WIFSIGNALED(*status) && WTERMSIG(*status) == SIGKILL;
    if (*status != 0 && !killed)
      throw Failure(process.child.name() + " " + example::describe_status(*status));
    in_peace = in_peace && *status == 0;
  }
  return in_peace;
}

}  // namespace aqua::pipeline
