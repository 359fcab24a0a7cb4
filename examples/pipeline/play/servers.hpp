// SPDX-License-Identifier: Apache-2.0
// TwoServers stands for two servers on this machine: prefill has a keeper, decode another one, and
// a courier on each side carries what is streamed. With one pipeline that is on the first, and the
// second one's keeper has copies of what the first one's has. With namespaces of the network the
// couriers reach each other over a link, and by nothing else.
//
// Threads: one, which lives as long as it. Errors: Failure.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "child_process.hpp"
#include "options.hpp"

namespace aqua::pipeline {

class TwoServers {
 public:
  // Starts keepers and couriers; each server has a folder below `directory`.
  TwoServers(const Options& options, const std::filesystem::path& directory);

  [[nodiscard]] const std::filesystem::path& prefill() const { return prefill_; }
  [[nodiscard]] const std::filesystem::path& decode() const { return decode_; }
  // Kills the courier of a server, and starts another one.
  void replace_courier(const std::string& pipeline);
  // Kills keeper and courier of the first.
  void lose_first();

 private:
  // Returns what it says of where it listens.
  std::string start_courier(std::optional<example::ChildProcess>& courier,
                            const std::filesystem::path& server, const std::string& network) const;
  void write_config(const std::filesystem::path& server, const std::string& name,
                    const nlohmann::json& what) const;
  [[nodiscard]] nlohmann::json listening(const std::string& port) const;
  [[nodiscard]] nlohmann::json carrying(const std::string& port) const;
  [[nodiscard]] nlohmann::json mirroring(const std::string& port) const;

  const Options& options_;
  const std::filesystem::path prefill_, decode_;
  example::ChildProcess prefill_keeper_, decode_keeper_;
  std::optional<example::ChildProcess> decode_courier_, prefill_courier_;
};

}  // namespace aqua::pipeline
