// SPDX-License-Identifier: GPL-2.0-or-later
// vernactl PATH COMMAND: shows what a running card is and does. PATH is what -device verna,ctl=PATH
// was given.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "client.h"
#include "table.h"

namespace vernactl {

namespace {

struct Options {
  std::string path;
  bool json = false;
  bool nonzero = false;
  double interval = 0.2;
  unsigned function = 0;
};

struct Question {
  const char* name;
  const char* help;
};

constexpr Question kQuestions[] = {
    {"regs", "registers of BAR 0"},
    {"caps", "capability blocks"},
    {"state", "what the card is doing: link, scheduler, memory"},
    {"eqs", "event queues"},
    {"cqs", "completion queues"},
    {"queues", "Ethernet TX and RX queues"},
    {"eth", "Ethernet function: MTU, filters"},
    {"rss", "RSS contexts: key, fields, indirection table"},
    {"vports", "vports of the embedded switch with their counters"},
    {"switch", "mode, tables, rules, meters and edits of the embedded switch"},
    {"rates", "tree of rates by which VFs share what the card sends"},
    {"flow", "flow tables and rules with their counters"},
    {"qps", "RDMA queue pairs"},
    {"mrs", "RDMA memory regions"},
    {"gids", "GID table"},
    {"counters", "all counters"},
};

void put(const std::string& text) { fmt::print("{}", text); }

void show(const Options& options, const std::string& request) {
  const std::string of = options.function ? fmt::format("fn {} ", options.function) : "";
  Json answer = Client(options.path).ask(of + request);
  if (options.nonzero) drop_zeros(answer);
  put(options.json ? answer.dump(2) + "\n" : format_tables(answer));
}

void switch_trace(const Options& options, const std::string& request) {
  const Json answer = Client(options.path).ask(request);
  if (options.json) put(answer.dump() + "\n");
}

void put_trace(const Options& options, const Json& answer) {
  const Json records = answer.value("records", Json::array());
  if (!options.json)
    put(format_trace(records));
  else
    for (const Json& record : records) put(record.dump() + "\n");
  std::fflush(stdout);
}

void show_trace(const Options& options) {
  put_trace(options, Client(options.path).ask("trace show"));
}

/// Prints new records until interrupted, and says so where the card was faster.
void follow_trace(const Options& options) {
  Client client(options.path);
  uint64_t next = client.ask("trace show").value("next", uint64_t{0});
  while (std::ferror(stdout) == 0) {
    const Json answer = client.ask(fmt::format("trace follow {}", next));
    const Json records = answer.value("records", Json::array());
    const uint64_t first = records.empty() ? next : records[0].value("number", next);
    if (first > next) fmt::print(stderr, "vernactl: {} records were lost\n", first - next);
    next = answer.value("next", next);
    put_trace(options, answer);
    if (records.size() < 1000)
      std::this_thread::sleep_for(std::chrono::duration<double>(options.interval));
  }
}

void add_trace(CLI::App& app, Options& options) {
  CLI::App* trace = app.add_subcommand("trace", "follow packets through the card");
  trace->require_subcommand(1);
  trace->add_subcommand("on", "start recording")->callback([&] {
    switch_trace(options, "trace on");
  });
  trace->add_subcommand("off", "stop recording and forget")->callback([&] {
    switch_trace(options, "trace off");
  });
  trace->add_subcommand("show", "the last records")->callback([&] { show_trace(options); });
  CLI::App* follow = trace->add_subcommand("follow", "records as they come");
  follow->add_option("--interval", options.interval, "seconds between two looks")
      ->check(CLI::Range(0.01, 60.0));
  follow->callback([&] { follow_trace(options); });
}

/// Exit code 2 and the word that is no command; the parser would only say that one is missing.
int refuse(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> words = app.remaining();
  if (error.get_exit_code() == 0 || words.empty()) {
    const int code = app.exit(error);
    return code ? 2 : 0;
  }
  fmt::print(stderr, "vernactl: unknown command '{}': see vernactl --help\n", words.front());
  return 2;
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Looks into a running verna card.");
  app.add_option("path", options.path, "the card's control socket (its property ctl)")->required();
  app.add_flag("--json", options.json, "JSON instead of tables");
  app.add_option("--fn", options.function, "function to look into: 0 the PF, VF n is n + 1")
      ->check(CLI::Range(0u, 64u));
  app.require_subcommand(1);
  app.fallthrough();
  for (const Question& question : kQuestions) {
    CLI::App* command = app.add_subcommand(question.name, question.help);
    if (std::string_view(question.name) == "counters")
      command->add_flag("--nonzero", options.nonzero, "only what was counted");
    command->callback([&options, question] { show(options, question.name); });
  }
  add_trace(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return refuse(app, error);
  } catch (const std::exception& failure) {
    fmt::print(stderr, "vernactl: {}\n", failure.what());
    return 1;
  }
  return 0;
}

}  // namespace

}  // namespace vernactl

int main(int argc, char** argv) { return vernactl::run(argc, argv); }
