// SPDX-License-Identifier: Apache-2.0
#include "tools/options/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <deque>

#include "tools/report/text.hpp"

namespace aqua {
namespace {

constexpr std::size_t kNameColumns = 30;
constexpr std::size_t kHelpColumns = 49;  // beside the names: 79 in all

// Begins with the usage, which `about` has, instead of one made up from the names.
class Formatter : public CLI::Formatter {
  [[nodiscard]] std::string make_usage(const CLI::App*, std::string) const override { return ""; }
};

// "--name=" as two, since an empty VALUE is a value. CLI11 takes other values as they stand, even
// one that begins as an option does.
std::vector<std::string> backwards(std::span<const std::string_view> arguments) {
  std::vector<std::string> all;
  for (const std::string_view argument : arguments) {
    const bool empty = argument.starts_with("--") && argument.ends_with('=') &&
                       argument.find('=') + 1 == argument.size();
    all.emplace_back(empty ? argument.substr(0, argument.size() - 1) : argument);
    if (empty) all.emplace_back();
  }
  std::ranges::reverse(all);
  return all;
}

}  // namespace

bool asks_for_help(std::span<const std::string_view> arguments) {
  return std::ranges::any_of(arguments, [](auto one) { return one == "--help" || one == "-h"; });
}

struct CommandLine::Impl {
  Impl(std::string command_, const std::string& about) : command(std::move(command_)), app(about) {}

  struct Option {
    std::string name;
    Set set;
    std::vector<std::string> given{};
  };
  std::string command;
  std::string heading = "Options";
  CLI::App app;
  std::deque<Option> options{};  // CLI11 keeps their addresses

  CLI::Option* add(const std::string& name, const std::string& help, Set set) {
    Option& added = options.emplace_back(Option{name, std::move(set)});
    // Without allow_extra_args(false) a list takes all that follows it.
    return app.add_option(name, added.given, report::wrapped(help, kHelpColumns))
        ->expected(1)
        ->allow_extra_args(false)
        ->group(heading);
  }
  [[nodiscard]] Error bad(std::string_view what) const {
    return {Code::invalid_argument, concat(command, command.empty() ? "" : ": ", what)};
  }
};

CommandLine::CommandLine(std::string command, const std::string& about)
    : impl_(std::make_unique<Impl>(std::move(command), about)) {
  impl_->app.set_help_flag();
  impl_->app.allow_extras();
  impl_->app.formatter(std::make_shared<Formatter>());
  impl_->app.get_formatter()->column_width(kNameColumns);
}
CommandLine::CommandLine(CommandLine&&) noexcept = default;
CommandLine::~CommandLine() = default;

CommandLine& CommandLine::group(std::string heading) {
  impl_->heading = std::move(heading);
  return *this;
}

CommandLine& CommandLine::option(const std::string& name, const std::string& value,
                                 const std::string& help, Set set, const std::string& fallback) {
  impl_->add(name, fallback.empty() ? help : concat(help, " (", fallback, ")"), std::move(set))
      ->type_name(value)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  return *this;
}

CommandLine& CommandLine::flag(const std::string& name, bool& field, const std::string& help,
                               bool to) {
  impl_->app
      .add_flag_callback(
          name, [&field, to] { field = to; }, report::wrapped(help, kHelpColumns))
      ->group(impl_->heading);
  return *this;
}

CommandLine& CommandLine::list(const std::string& name, std::vector<std::string>& field,
                               const std::string& value, const std::string& help) {
  const auto add = [&field](std::string_view given) -> Result<void> {
    if (given.empty()) return Error{Code::invalid_argument, "expected a value"};
    field.emplace_back(given);
    return {};
  };
  impl_->add(name, help, add)
      ->type_name(value)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return *this;
}

CommandLine& CommandLine::positional(const std::string& value, std::string& field,
                                     const std::string& help) {
  impl_->app.add_option(value, field, report::wrapped(help, kHelpColumns))->type_name("");
  return *this;
}

Result<void> CommandLine::parse(std::span<const std::string_view> arguments) {
  try {
    impl_->app.parse(backwards(arguments));
  } catch (const CLI::ArgumentMismatch& missing) {  // "--name: 1 required VALUE missing"
    const std::string_view said = missing.what();
    return impl_->bad(concat(said.substr(0, said.find(':')), " needs a value"));
  } catch (const CLI::ParseError& fault) {
    return impl_->bad(fault.what());
  }
  if (const auto extras = impl_->app.remaining(); !extras.empty()) {
    const std::string& extra = extras.front();
    const bool named = extra.starts_with("--");  // a value given with it is of no interest
    return impl_->bad(concat("unknown argument ",
                             report::shown(named ? extra.substr(0, extra.find('=')) : extra),
                             "; see --help"));
  }
  for (const Impl::Option& option : impl_->options) {
    for (const std::string& value : option.given) {
      if (const auto set = option.set(value); !set.ok())
        return impl_->bad(
            concat(option.name, " ", report::shown(value), ": ", set.error().message));
    }
  }
  return {};
}

std::string CommandLine::about() const {
  return impl_->app.get_description();
}

std::vector<OptionText> CommandLine::options() const {
  std::vector<OptionText> all;
  for (const CLI::Option* option : impl_->app.get_options()) {
    if (option->get_group().empty()) continue;  // nobody is told
    std::string help = option->get_description();
    std::ranges::replace(help, '\n', ' ');
    all.push_back({option->get_name(), option->get_type_name(), std::move(help)});
  }
  return all;
}

std::string CommandLine::help() {
  std::string text = impl_->app.help();
  // CLI11 leaves two empty lines between groups.
  for (std::size_t at = 0; (at = text.find("\n\n\n", at)) != text.npos;) text.erase(at, 1);
  return text;
}

}  // namespace aqua
