// SPDX-License-Identifier: Apache-2.0
// Options from the file and the environment, and which of them wins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "coordinator/config_file.hpp"
#include "coordinator/option_table.hpp"
#include "tests/base/temp_dir.hpp"

namespace aqua::coordinator {
namespace {

using ::testing::HasSubstr;

class Config : public ::testing::Test {
 protected:
  // With the file, and these arguments.
  Result<Options> parse(const std::string& text, std::vector<const char*> arguments = {}) {
    std::ofstream(path_) << text;
    arguments.insert(arguments.begin(), {"--config", path_.c_str()});
    return parse_options(arguments);
  }
  void refused(const std::string& text, const std::string& why) {
    const auto options = parse(text);
    ASSERT_FALSE(options.ok()) << text;
    EXPECT_EQ(options.error().code, Code::invalid_argument);
    EXPECT_THAT(options.error().message, HasSubstr(why));
  }
  // A variable for the length of a test.
  class Variable {
   public:
    Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
    ~Variable() { ::unsetenv(name_); }

   private:
    const char* const name_;
  };

  testing::TempDir dir_;
  const std::string path_ = dir_ / "coordinator.toml";
};

TEST_F(Config, EveryOptionCanStandInTheFileUnderItsFlagsName) {
  const auto options = parse(R"(# a comment
listen = "127.0.0.1:7070"
data = "/d"
lifeline = "/l"
store = "memory"
leases-survive = "host"
client-ttl = 100
lease-ttl = 200
share-producers = true
share-device = true
max-watches = 7
socket-mode = "660"
socket-group = "4711"
allow-uid = [1000, 1001]
tokens = "/t"
tls-listen = "0.0.0.0:7071"
proxy-host = "GPU7.example"
tls-cert = "/c"
tls-key = "/k"
server = "s"
advertise = "https://s.example:7071"
etcd = "https://10.0.0.1:2379,http://[::1]:2379"
etcd-authority = "/a"
etcd-user = "u"
etcd-password = "/p"
server-ttl = 2500
max-rate = 11
max-concurrent = 12
max-body = 2048
max-head = 4096
max-headers = 13
max-connections = 14000
max-process-rate = 18
max-clients = 15
max-slabs = 16
max-slabs-in-all = 17
drain-timeout = 50
log-format = "json"
log-level = "debug"
)");
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_EQ(options->settings.size(), option_table().size()) << "an option is missing above";
  EXPECT_EQ(to_string(options->listen), "127.0.0.1:7070");
  EXPECT_EQ(options->data, "/d");
  EXPECT_FALSE(options->durable);
  EXPECT_EQ(options->server.name, "s");
  EXPECT_EQ(options->server.etcd.members,
            (std::vector<std::string>{"https://10.0.0.1:2379", "http://[::1]:2379"}));
  EXPECT_EQ(options->server.ttl, std::chrono::seconds(3));
  EXPECT_EQ(options->leases_survive, Survives::host);
  EXPECT_EQ(options->limits.client_ttl, ledger::Time{100});
  EXPECT_TRUE(options->limits.share_device);
  EXPECT_EQ(options->socket_mode, 0660U);
  EXPECT_EQ(options->peers.allowed_uids, (std::set<std::uint32_t>{1000, 1001}));
  EXPECT_EQ(options->peers.group, 4711U);
  EXPECT_EQ(options->tokens, "/t");
  EXPECT_EQ(to_string(options->tls_listen.value()), "0.0.0.0:7071");
  EXPECT_EQ(options->admission.proxy_host, "gpu7.example");
  EXPECT_EQ(options->tls.certificate, "/c");
  EXPECT_EQ(options->tls.key, "/k");
  EXPECT_EQ(options->admission.quota.rate, 11U);
  EXPECT_EQ(options->admission.quota.concurrent, 12U);
  EXPECT_EQ(options->admission.body_bytes, 2048U);
  EXPECT_EQ(options->admission.head.bytes, 4096U);
  EXPECT_EQ(options->admission.head.headers, 13U);
  EXPECT_EQ(options->max_connections, 14000U);
  EXPECT_EQ(options->max_process_rate, 18U);
  EXPECT_EQ(options->limits.max_clients, 15U);
  EXPECT_EQ(options->limits.max_slabs_per_client, 16U);
  EXPECT_EQ(options->limits.max_slabs, 17U);
  EXPECT_EQ(options->drain_timeout.count(), 50);
  EXPECT_EQ(options->log_format, LogFormat::json);
  EXPECT_EQ(options->log_level, "debug");
}

TEST_F(Config, FlagsWinOverTheEnvironmentAndThatOverTheFile) {
  const std::string file = "client-ttl = 1\nlease-ttl = 1\nmax-watches = 1\nallow-uid = [1]\n";
  const Variable lease("AQUA_COORDINATOR_LEASE_TTL", "2");
  const Variable watches("AQUA_COORDINATOR_MAX_WATCHES", "2");
  const Variable uids("AQUA_COORDINATOR_ALLOW_UID", "2,3");
  const auto options = parse(file, {"--max-watches", "3"});
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_EQ(options->limits.client_ttl, ledger::Time{1}) << "from the file";
  EXPECT_EQ(options->limits.lease_ttl, ledger::Time{2}) << "from the environment";
  EXPECT_EQ(options->max_watches, 3U) << "from the command line";
  EXPECT_EQ(options->peers.allowed_uids, (std::set<std::uint32_t>{2, 3})) << "whole, not added up";
}

TEST_F(Config, AFlagSetInTheFileCanBeTakenBackOnTheCommandLine) {
  const auto options = parse("share-device = true\n", {"--share-device=false"});
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_FALSE(options->limits.share_device);
}

TEST_F(Config, TheFileItselfCanBeNamedByTheEnvironment) {
  std::ofstream(path_) << "max-watches = 5\n";
  const Variable config("AQUA_COORDINATOR_CONFIG", path_.c_str());
  EXPECT_EQ(parse_options({})->max_watches, 5U);
}

TEST_F(Config, MistakesAreNamedWithTheirLine) {
  refused("max-watches = 5\nlisen = \"x\"\n", "coordinator.toml:2:1: unknown key 'lisen'");
  refused("\n[servers]\nlisten = \"x\"\n", "coordinator.toml:2:2: unknown key 'servers'");
  refused("client-ttl = \"3000\"\n", "coordinator.toml:1:14: client-ttl: expected an integer");
  refused("share-device = 1\n", "expected true or false");
  refused("allow-uid = [1, \"x\"]\n", "expected an array of integers");
  refused("listen = 7070\n", "expected a string in quotes");
  refused("a = 1\na = \n", "coordinator.toml:2:");
  refused("[=]\n", "coordinator.toml: not TOML");
  refused("client-ttl = 0\n", "coordinator.toml:1: client-ttl: '0': expected an integer from 1");
  refused("client-ttl = 1\nclient-ttl = 2\n", "coordinator.toml:2:");
  refused("log-level = \"loud\"\n", "coordinator.toml:1: log-level: 'loud': expected trace");
}

// toml++ has undefined behaviour for some of these.
TEST_F(Config, LettersBeyondAsciiAreForComments) {
  EXPECT_EQ(parse("# größer\n  # \xC3\xA9\nmax-watches = 5\n")->max_watches, 5U);
  EXPECT_EQ(parse("data = \"/srv/\\u00E9\"\n")->data, "/srv/é");
  refused("data = \"/srv/é\"\n", "coordinator.toml:1: not ASCII");
  refused("\né = 1\n", "coordinator.toml:2: not ASCII");
  refused("max-watches = 5 # é\n", "coordinator.toml:1: not ASCII");
  refused("data = \"\"\"\n# é\"\"\"\n", "coordinator.toml:1: a string of several lines");
}

TEST_F(Config, WhatItPrintsItReads) {
  const std::string odd = "/srv/é \"\\ \t'#\x01";
  const auto first = parse("", {"--data", odd.c_str()});
  ASSERT_TRUE(first.ok()) << first.error().message;
  const auto second = parse(to_toml(*first));
  ASSERT_TRUE(second.ok()) << second.error().message << to_toml(*first);
  EXPECT_EQ(second->data, odd);
}

TEST_F(Config, MistakesInTheEnvironmentNameTheVariable) {
  const Variable lease("AQUA_COORDINATOR_LEASE_TTL", "soon");
  const auto options = parse_options({});
  ASSERT_FALSE(options.ok());
  EXPECT_THAT(options.error().message, HasSubstr("AQUA_COORDINATOR_LEASE_TTL: 'soon'"));
}

TEST_F(Config, AFileThatIsNotThereIsAnError) {
  const auto options = parse_options(std::vector<const char*>{"--config", "/nowhere/at/all"});
  ASSERT_FALSE(options.ok());
  EXPECT_EQ(options.error().code, Code::not_found);
  EXPECT_THAT(options.error().message, HasSubstr("/nowhere/at/all"));
}

TEST_F(Config, WhatIsPrintedCanBeReadAgain) {
  const auto first = parse("listen = \"127.0.0.1:1\"\nallow-uid = [4, 5]\nshare-device = true\n",
                           {"--max-watches", "9", "--data", "/a\"b\\c"});
  ASSERT_TRUE(first.ok()) << first.error().message;
  const auto second = parse(to_toml(*first));
  ASSERT_TRUE(second.ok()) << second.error().message << to_toml(*first);
  EXPECT_EQ(second->settings, first->settings);
}

TEST_F(Config, OptionsThatNeedARestartAreNamed) {
  const auto running = parse("max-watches = 1\nlog-level = \"info\"\n");
  const auto wanted = parse("max-watches = 2\nlog-level = \"debug\"\nlisten = \"127.0.0.1:1\"\n");
  EXPECT_EQ(need_restart(*running, *wanted), (std::vector<std::string>{"listen", "max-watches"}));
  EXPECT_TRUE(need_restart(*running, *running).empty());
}

// A source's text; a manual page's with plain hyphens.
std::string text_of(const std::string& name) {
  std::ifstream file(AQUA_SOURCE_DIR + name);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return std::regex_replace(text, std::regex(R"(\\-)"), "-");
}

TEST_F(Config, EveryOptionIsInTheManualAndInTheSampleAndTheManualHasNoOther) {
  const std::string manual = text_of("/coordinator/system/aqua-coordinator.8.in");
  const std::string sample = text_of("/coordinator/system/coordinator.toml");
  std::set<std::string> names{"config", "check-config", "version", "help"};
  for (const OptionSpec& spec : option_table()) {
    names.insert(spec.name);
    EXPECT_THAT(manual, HasSubstr(std::string("--") + spec.name));
    EXPECT_THAT(sample, HasSubstr(spec.name));
  }
  const std::regex option("--([a-z-]+)");
  for (std::sregex_iterator at(manual.begin(), manual.end(), option), end; at != end; ++at)
    EXPECT_TRUE(names.contains((*at)[1])) << (*at)[0];
}

TEST_F(Config, TheSampleIsSound) {
  EXPECT_TRUE(read_config(AQUA_SOURCE_DIR "/coordinator/system/coordinator.toml").ok());
}

}  // namespace
}  // namespace aqua::coordinator
