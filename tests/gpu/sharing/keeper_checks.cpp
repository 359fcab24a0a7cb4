// SPDX-License-Identifier: Apache-2.0
// What the keeper's memory outlives, and who may write it.
#include <optional>
#include <string>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tests/gpu/sharing/checks.hpp"
#include "tests/gpu/sharing/scene.hpp"
#include "tests/gpu/sharing/weights.hpp"

namespace aqua::sharing_contact {
namespace {

using first_contact::Answer;
using first_contact::Gpu;

struct Kept {
  std::string seen{};  // what a later process made of the bytes: "ok", or what went wrong
  bool keeper_has_driver = false;
  std::string device_files{};  // in the keeper, while nobody else holds the memory
};

// Published by a process that has ended, and read by one that starts later. Between the two nobody
// but the keeper has anything of the memory and, without a bystander, no process of ours has a
// context: without persistence mode the driver may then let go of the GPU.
Result<Kept> publish_then_read(bool with_bystander) {
  AQUA_ASSIGN(const Keeper keeper, Keeper::start());
  std::optional<Other> bystander;
  if (with_bystander) {
    AQUA_ASSIGN(Other started, Other::start("bystander"));
    bystander.emplace(std::move(started));
  }
  AQUA_TRY(publish_and_end(1));
  Kept kept{.keeper_has_driver = keeper.has_driver(), .device_files = keeper.device_files()};
  AQUA_ASSIGN(Other reader, Other::start("reader", kept.seen));
  if (kept.seen == "ok") kept.seen = reader.ask("1");
  if (kept.seen.empty()) kept.seen = "the reader died";
  return kept;
}

}  // namespace

Result<Answer> descriptor_alone() {
  AQUA_ASSIGN(const Kept alone, publish_then_read(false));
  nlohmann::json figures{{"alone", alone.seen},
                         {"keeper_has_driver", alone.keeper_has_driver},
                         {"keeper_device_files", alone.device_files}};
  std::string detail = concat("nobody else on the GPU: ", alone.seen);
  if (alone.seen != "ok") {
    AQUA_ASSIGN(const Kept beside, publish_then_read(true));
    figures["beside_another_context"] = beside.seen;
    detail += concat("; beside a process with a context: ", beside.seen);
  }
  detail += concat("; the keeper has ", alone.keeper_has_driver ? "THE DRIVER" : "no driver",
                   " and files: ", alone.device_files);
  return Answer{.yes = alone.seen == "ok" && !alone.keeper_has_driver,
                .detail = std::move(detail),
                .figures = std::move(figures)};
}

Result<Answer> write_faults(const Gpu& gpu) {
  AQUA_ASSIGN(const Keeper keeper, Keeper::start());
  AQUA_TRY(publish_and_end(1));
  AQUA_ASSIGN(Runtime runtime, open_runtime());
  AQUA_ASSIGN(auto weights, attach(runtime));
  AQUA_ASSIGN(Other reader, Other::start("reader"));
  AQUA_TRY(compare(gpu, weights, 1));
  Answer answer{.yes = true};
  for (const char* kernel : {"vector", "bulk"}) {
    std::string driver;  // "ERROR of the kernel, ERROR of a later call"; "" where it died
    AQUA_ASSIGN(const Other writer, Other::start(concat("writer ", kernel), driver));
    const bool faulted = driver.starts_with("CUDA_ERROR_");
    const auto here = compare(gpu, weights, 1);
    const std::string ours = here.ok() ? "ok" : here.error().message, theirs = reader.ask("1");
    answer.yes = answer.yes && faulted && ours == "ok" && theirs == "ok";
    answer.figures[kernel] = {{"driver", driver}, {"parent", ours}, {"second_reader", theirs}};
    answer.detail +=
        concat(answer.detail.empty() ? "" : "; ", kernel,
               " kernel and context after: ", driver.empty() ? "died" : driver, ", parent: ", ours,
               ", second reader: ", theirs.empty() ? "died" : theirs);
  }
  return answer;
}

}  // namespace aqua::sharing_contact
