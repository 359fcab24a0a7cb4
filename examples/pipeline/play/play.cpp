// SPDX-License-Identifier: Apache-2.0
#include "play/play.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>

#include "hosts/namespaces.hpp"
#include "must.hpp"
#include "play/daemons.hpp"
#include "play/leftovers.hpp"
#include "play/record.hpp"
#include "play/report.hpp"
#include "play/servers.hpp"
#include "play/serving.hpp"
#include "verdict.hpp"
#include "workplace.hpp"

namespace aqua::pipeline {
namespace {

constexpr const char* kReference = "reference";

class Play {
 public:
  explicit Play(const Options& options) : options_(options), requests_(make_requests(options)) {
    for (const Request& request : requests_) answer_tokens_ += request.answer_tokens;
  }

  int run() {
    if (options_.hosts > 0) leave_the_network();
    std::vector<Run> runs;
    for (const Way& way : ways()) runs.push_back({way.name, serve(way)});
    const Served one = serve_alone();
    std::vector<std::string> complaints;
    for (const Run& each : runs) {
      const std::size_t differ = requests_.size() - equal_answers(each.served, one);
      if (differ == 0) continue;
      complaints.push_back(std::to_string(differ) + " answers differ from those of one process" +
                           (runs.size() == 1 ? "" : ": " + each.name));
    }
    report(runs, one);
    return verdict(complaints);
  }

 private:
  // How the requests are served.
  struct Way {
    std::string name{};
    Options options{};
  };
  // The first one is what was asked for.
  [[nodiscard]] std::vector<Way> ways() const {
    std::vector<Way> all{{"as asked", options_}};
    if (!options_.compare) return all;
    Options other = options_;
    other.kill.clear();
    other.stop.clear();
    other.cut.clear();
    all.push_back({"undisturbed", other});
    other = options_;
    if (options_.two_servers.empty()) {
      other.standby = !options_.standby;
      all.push_back({other.standby ? "with a standby" : "without a standby", other});
      other.standby = options_.standby;
    }
    if (options_.replicate) {
      other.recover = Recover::reading;
      all.push_back({"always read", other});
      other.recover = Recover::prefill;
      all.push_back({"never read", other});
    }
    other.replicate = false;
    other.recover = Recover::prefill;
    all.push_back({"prefilled again", other});
    other.recover = Recover::scratch;
    all.push_back({"from scratch", other});
    return all;
  }

  Served serve(const Way& way) {
    directory_ = base_.path() / std::to_string(++served_ways_);
    std::filesystem::create_directory(directory_);
    daemons_.emplace(way.options, directory_);
    Served served = way.options.prefill ? serve_apart(way.options) : serve_colocated(way.options);
    served.coordinator_deaths = daemons_->coordinator().deaths();
    served.coordinator_stops = daemons_->coordinator().stops();
    if (const Daemon* const keeper = daemons_->keeper()) {
      served.keeper_deaths = keeper->deaths();
      served.keeper_stops = keeper->stops();
    }
    daemons_.reset();
    std::filesystem::remove_all(directory_);
    return served;
  }

  Processes start(const std::string& name, const PipelineShape& shape, const Options& options,
                  const std::filesystem::path& directory) {
    say("serving: " + name + " " + to_string(shape) + ", " + std::to_string(shape.processes()) +
        (shape.processes() == 1 ? " process" : " processes"));
    return {name, shape, options, directory, *daemons_};
  }

  Served serve_alone() {
    Options alone = options_;
    alone.flip = alone.replicate = alone.standby = false;
    alone.prefill = alone.decode = {};
    alone.record.clear();
    alone.layer_us = 0;
    alone.kill.clear();
    alone.stop.clear();
    alone.cut.clear();
    alone.ttl_ms = alone.hosts = 0;
    alone.colocated = {1, 1};
    directory_ = base_.path();
    daemons_.emplace(alone, directory_);
    Processes one_process = start(kReference, alone.colocated, alone, directory_);
    Served served = Serving(one_process, one_process, nullptr, requests_, alone, stop_).run();
    one_process.finish();
    return served;
  }

  Served serve_colocated(const Options& options) {
    if (!options.two_servers.empty()) return serve_mirrored(options);
    if (options.hosts > 0) return serve_colocated_on_hosts(options);
    Processes pipeline = start(kColocated, options.colocated, options, directory_);
    Served served = Serving(pipeline, pipeline, nullptr, requests_, options, stop_)
                        .run(killing(options, {&pipeline}));
    const bool in_peace = pipeline.finish();
    if (!options.record.empty()) {
      write_recording(options, requests_, served,
                      StepLog::read(directory_, options.colocated.stages));
    }
    if (daemons_->keeper() != nullptr) {
      leftovers().look(served, in_peace, {directory_});
    } else {
      served.not_looked = "there is no keeper";
    }
    return served;
  }

  // On the first of two servers, until that is lost.
  Served serve_mirrored(const Options& options) {
    TwoServers servers(options, directory_);
    const std::filesystem::path& second = servers.decode();
    std::vector<std::filesystem::path> alive{servers.prefill(), second};
    Processes pipeline = start(kColocated, options.colocated, options, servers.prefill());
    Served served = Serving(pipeline, pipeline, nullptr, requests_, options, stop_)
                        .run(killing(options, {&pipeline}, [&](const Kill& kill) {
                          if (kill.pipeline == kCourier)
                            return servers.replace_courier(kill.stage == 0 ? kPrefill : kDecode);
                          servers.lose_first();
                          alive = {second};
                          pipeline.lose_server(second);
                        }));
    const bool in_peace = pipeline.finish();
    for (const auto& server : alive) leftovers().await_none(server, is_any);
    leftovers().look(served, in_peace, alive);
    return served;
  }

  // Decode has other blocks.
  [[nodiscard]] static Options decodes(Options options) {
    options.flip = false;
    options.cache.heads_first = !options.cache.heads_first;
    options.cache.tokens_per_block = options.cache.tokens_per_block / 2 + 1;
    return options;
  }

  // Prefill and decode apart, with a keeper between them.
  Served serve_apart(const Options& options) {
    if (!options.two_servers.empty()) return serve_on_two(options);
    if (options.hosts > 0) return serve_apart_on_hosts(options);
    Processes prefill = start(kPrefill, *options.prefill, options, directory_);
    Processes decode = start(kDecode, *options.decode, decodes(options), directory_);
    const auto losses = [keeper = daemons_->keeper()] { return keeper->deaths(); };
    Served served = Serving(prefill, decode, losses, requests_, options, stop_)
                        .run(killing(options, {&prefill, &decode}));
    prefill.finish();
    await_no_parcels(decode, directory_);
    leftovers().look(served, decode.finish(), {directory_});
    return served;
  }

  // On two servers, with couriers between them.
  Served serve_on_two(const Options& options) {
    TwoServers servers(options, directory_);
    Processes prefill = start(kPrefill, *options.prefill, options, servers.prefill());
    Processes decode = start(kDecode, *options.decode, decodes(options), servers.decode());
    Served served = Serving(prefill, decode, nullptr, requests_, options, stop_)
                        .run(killing(options, {&prefill, &decode}, [&](const Kill& kill) {
                          servers.replace_courier(kill.stage == 0 ? kPrefill : kDecode);
                        }));
    prefill.finish();
    for (const auto& server : {servers.decode(), servers.prefill()})
      await_no_parcels(decode, server);
    leftovers().look(served, decode.finish(), {servers.prefill(), servers.decode()});
    return served;
  }

  // Stages on several hosts, whose couriers mirror what their keepers keep.
  Served serve_colocated_on_hosts(const Options& options) {
    Processes pipeline = start(kColocated, options.colocated, options, directory_);
    Served served = Serving(pipeline, pipeline, nullptr, requests_, options, stop_)
                        .run(killing(options, {&pipeline}, killing_on_hosts({&pipeline})));
    end_on_hosts(served, pipeline.finish());
    return served;
  }

  // Both pipelines there, with couriers between the stages of the one and of the other.
  Served serve_apart_on_hosts(const Options& options) {
    Processes prefill = start(kPrefill, *options.prefill, options, directory_);
    Processes decode = start(kDecode, *options.decode, decodes(options), directory_);
    const auto losses = [hosts = daemons_->hosts()] { return hosts->ways_lost(); };
    Served served =
        Serving(prefill, decode, losses, requests_, options, stop_)
            .run(killing(options, {&prefill, &decode}, killing_on_hosts({&prefill, &decode})));
    prefill.finish();
    daemons_->hosts()->give_up_parcels(requests_);
    for (const auto& host : daemons_->hosts()->alive()) await_no_parcels(decode, host);
    end_on_hosts(served, decode.finish());
    return served;
  }

  [[nodiscard]] std::function<void(const Kill&)> killing_on_hosts(
      const std::vector<Processes*>& pipelines) {
    return [hosts = daemons_->hosts(), pipelines](const Kill& kill) {
      if (kill.pipeline == kCourier) return hosts->replace_courier(kill.stage);
      for (Processes* const each : pipelines) each->loses_host(kill.stage);
      kill.cuts ? hosts->cut_off(kill.stage) : hosts->lose(kill.stage);
    };
  }

  // Copies of replicas end a little later than these.
  void end_on_hosts(Served& served, bool in_peace) {
    const auto alive = daemons_->hosts()->alive();
    for (const auto& host : alive) leftovers().await_none(host, is_any);
    leftovers().look(served, in_peace, alive);
    served.hosts = daemons_->hosts()->traffic(requests_);
  }

  // Returns once decode has let go of all that was streamed to it: prefill has ended, so that
  // nothing more comes.
  void await_no_parcels(Processes& decode, const std::filesystem::path& server) {
    leftovers().await_none(
        server, [&](const SegmentStatus& kept) { return kept.parcel != 0 && !decode.broken(); });
  }
  static bool is_any(const SegmentStatus& /*kept*/) { return true; }
  [[nodiscard]] Leftovers leftovers() { return {*daemons_, stop_}; }

  // Kills and stops what is due, as tokens come; with `kill_daemon` couriers and servers.
  std::function<void(std::size_t)> killing(const Options& options,
                                           std::vector<Processes*> pipelines,
                                           std::function<void(const Kill&)> kill_daemon = nullptr) {
    // Parsed with the options that it was accepted with: in another way there may be no keeper, or
    // nobody who stands by.
    const bool undisturbed = options.kill.empty() && options.stop.empty() && options.cut.empty();
    return [this, kill_daemon = std::move(kill_daemon), pipelines = std::move(pipelines),
            pending =
                undisturbed ? std::vector<Kill>{} : kills(options_)](std::size_t tokens) mutable {
      const auto due = [&](const Kill& kill) {
        return kill.step.empty() && tokens * 100 >= answer_tokens_ * kill.percent;
      };
      for (const Kill& kill : pending) {
        if (!due(kill)) continue;
        const int number = kill.stops ? SIGSTOP : SIGKILL;
        if (kill.pipeline == kCoordinator) {
          daemons_->coordinator().signal(number);
        } else if (kill.pipeline == kKeeper) {
          if (Daemon* const keeper = daemons_->keeper()) keeper->signal(number);
        } else if (is_daemon(kill) && kill_daemon) {
          kill_daemon(kill);
        }
        for (Processes* const each : pipelines) {
          if (each->name() != kill.pipeline) continue;
          if (kill.standby) {
            each->signal_standby(number);
          } else {
            each->signal(kill.stage, kill.rank, number);
          }
        }
      }
      std::erase_if(pending, due);
    };
  }

  void say(const std::string& line) const {
    if (options_.json) return;
    std::puts(line.c_str());
    (void)std::fflush(stdout);
  }

  void report(const std::vector<Run>& runs, const Served& one) const {
    if (options_.json) {
      std::puts(as_json(options_, runs, one).dump(2).c_str());
    } else {
      for (const std::string& line : as_lines(runs, one)) say(line);
    }
  }

  [[nodiscard]] int verdict(const std::vector<std::string>& complaints) const {
    if (options_.json && complaints.empty()) return 0;
    return example::verdict(complaints);
  }

  const Options& options_;
  const std::vector<Request> requests_;
  std::size_t answer_tokens_ = 0;
  example::StopSignals stop_;
  example::PrivateDirectory base_;
  std::filesystem::path directory_{};  // of the processes that serve now
  std::optional<Daemons> daemons_{};   // theirs
  unsigned served_ways_ = 0;
};

}  // namespace

int play(const Options& options) {
  return Play(options).run();
}

}  // namespace aqua::pipeline
