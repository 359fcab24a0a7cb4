// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/first_contact/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "base/concat.hpp"
#include "base/unique_fd.hpp"
#include "tests/gpu/first_contact/gpu.hpp"

namespace aqua::first_contact {
namespace {

using nlohmann::json;

// All that the descriptor gives until it ends or the limit has passed.
std::string read_all(int fd, Clock::time_point limit, bool& ended) {
  std::string text;
  char part[4096];
  for (ended = false; !ended;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(limit - Clock::now()).count();
    pollfd readable{.fd = fd, .events = POLLIN, .revents = 0};
    if (left <= 0 || ::poll(&readable, 1, static_cast<int>(left)) != 1) break;
    const ssize_t got = ::read(fd, part, sizeof part);
    ended = got <= 0;
    if (got > 0) text.append(part, static_cast<std::size_t>(got));
  }
  return text;
}

// The last line that the process printed is its answer.
json last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of('\n');
  if (end == text.npos) return nullptr;
  const std::size_t before = text.rfind('\n', end);
  const std::size_t begin = before == text.npos ? 0 : before + 1;
  return json::parse(text.substr(begin, end + 1 - begin), nullptr, false);
}

json no(const std::string& detail) {
  return {{"answer", "no"}, {"detail", detail}};
}

Result<Answer> run(const Check& check, const Options& options) {
  if (check.run_without_gpu != nullptr) return check.run_without_gpu();
  const auto gpu = Gpu::open(options.mib);
  if (gpu.ok()) return check.run(**gpu);
  if (gpu.error().code != Code::unavailable) return gpu.error();
  return Error{Code::unimplemented, gpu.error().message};
}

json outcome(const std::string& text, int status) {
  const json answer = last_line(text);
  if (answer.is_object() && answer.contains("answer")) return answer;
  return no(WIFSIGNALED(status) ? concat("ended by signal ", WTERMSIG(status))
                                : concat("exit status ", WEXITSTATUS(status)));
}

}  // namespace

json ask_apart(const Check& check, const Options& options) {
  json row{{"check", check.name},
           {"kind", check.kind == Kind::assumption ? "assumption" : "question"},
           {"asks", check.asks}};
  const auto finish = [&](const json& answer) {
    row.update(answer);
    if (row["answer"] == "no") row["otherwise"] = check.otherwise;
    return row;
  };
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return finish(no("no pipe"));
  const UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, theirs.get(), STDOUT_FILENO);
  std::string name = "contact", option = "--check", which = check.name, large = "--mib",
              mib = std::to_string(options.mib);
  char* arguments[] = {name.data(), option.data(), which.data(), large.data(), mib.data(), nullptr};
  pid_t pid = -1;
  const auto start = Clock::now();
  const int failed = ::posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, arguments, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  theirs.reset();
  if (failed != 0) return finish(no(concat("posix_spawn: error ", failed)));
  bool ended = false;
  const std::string text = read_all(ours.get(), start + options.limit, ended);
  if (!ended) ::kill(pid, SIGKILL);
  int status = 0;
  (void)::waitpid(pid, &status, 0);
  row["seconds"] = microseconds_since(start) / 1e6;
  return finish(ended ? outcome(text, status)
                      : no(concat("still ran after ", options.limit.count(), " s")));
}

const Check* find_check(std::string_view name) {
  for (const Check& check : checks())
    if (name == check.name) return &check;
  return nullptr;
}

int answer_here(const Check& check, const Options& options) {
  const auto answer = run(check, options);
  json row;
  if (answer.ok()) {
    row = {{"answer", answer->yes ? "yes" : "no"},
           {"detail", answer->detail},
           {"figures", answer->figures}};
  } else {
    row = no(answer.error().message);
    // Nothing can be asked without a GPU, or of a driver that lacks the call.
    if (answer.error().code == Code::unimplemented) row["answer"] = "skipped";
  }
  std::printf("%s\n", row.dump(-1, ' ', true, json::error_handler_t::replace).c_str());
  std::fflush(stdout);
  std::_Exit(0);  // a context that is lost, and work that never ends, hold nothing up
}

}  // namespace aqua::first_contact
