// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// nccl-tests' options, as far as they make sense with one process a GPU.
#include "tests/nccl_e2e/program/options.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <utility>

#include "tests/nccl_e2e/program/operation.h"

namespace nccl_test {
namespace {

constexpr int kBadUsage = 2;

using Types = std::vector<std::pair<std::string, ncclDataType_t>>;
using Operations = std::vector<std::pair<std::string, ncclRedOp_t>>;

const Types& types() {
  static const Types all{{"int8", ncclInt8},        {"uint8", ncclUint8}, {"int32", ncclInt32},
                         {"uint32", ncclUint32},    {"int64", ncclInt64}, {"uint64", ncclUint64},
                         {"half", ncclFloat16},     {"float", ncclFloat}, {"double", ncclDouble},
                         {"bfloat16", ncclBfloat16}};
  return all;
}

const Operations& operations() {
  static const Operations all{
      {"sum", ncclSum}, {"prod", ncclProd}, {"min", ncclMin}, {"max", ncclMax}, {"avg", ncclAvg}};
  return all;
}

template <typename Value>
const char* name_in(const std::vector<std::pair<std::string, Value>>& names, Value value) {
  for (const auto& [name, named] : names) {
    if (named == value) return name.c_str();
  }
  return "?";
}

// "all", or the names of some.  Returns  true if every name is known.
template <typename Value>
bool choose(const std::vector<std::string>& wanted,
            const std::vector<std::pair<std::string, Value>>& names, std::vector<Value>* out) {
  out->clear();
  for (const std::string& want : wanted) {
    const std::size_t had = out->size();
    for (const auto& [name, value] : names) {
      if (want == name || want == "all") out->push_back(value);
    }
    if (out->size() == had) return false;
  }
  return true;
}

struct Names {
  std::vector<std::string> collectives{"all_reduce"};
  std::vector<std::string> types{"float"};
  std::vector<std::string> operations{"sum"};
};

bool resolve(const Names& names, Options* o) {
  std::vector<std::pair<std::string, std::string>> collectives;
  for (const std::string& name : collective_names()) collectives.emplace_back(name, name);
  return choose(names.collectives, collectives, &o->collectives) &&
         choose(names.types, types(), &o->types) &&
         choose(names.operations, operations(), &o->operations);
}

void add_name_options(CLI::App* app, Names* names) {
  app->add_option("collective", names->collectives, "What to run: all, or names with commas")
      ->delimiter(',');
  app->add_option("-d,--datatype", names->types, "Types of the elements: all, or names")
      ->delimiter(',');
  app->add_option("-o,--op", names->operations, "Reductions: all, or names")->delimiter(',');
}

void add_options(CLI::App* app, Options* o) {
  app->add_option("-b,--minbytes", o->least_bytes, "Smallest size")
      ->transform(CLI::AsSizeValue(false));
  app->add_option("-e,--maxbytes", o->most_bytes, "Largest size")
      ->transform(CLI::AsSizeValue(false));
  app->add_option("-f,--stepfactor", o->factor, "Factor between sizes")
      ->check(CLI::Range(2, 1 << 30));
  app->add_option("--nodes", o->job.nodes, "Pretended nodes")->check(CLI::Range(1, 64));
  app->add_option("-g,--gpus", o->job.gpus_per_node, "GPUs of a node, a process each")
      ->check(CLI::Range(1, 64));
  app->add_option(
         "--on-node", o->job.on_node,
         "What starts a program on node {}, as in 'fabrail-sim on {} --'; the nodes are not "
         "only pretended then")
      ->delimiter(' ');
  app->add_option("--rank", o->job.rank)->group("");
  app->add_option("--shared-memory", o->job.shared_memory)->group("");
  app->add_option("-n,--iters", o->iterations, "Timed iterations")->check(CLI::PositiveNumber);
  app->add_option("-w,--warmup_iters", o->warmup, "Iterations before them")
      ->check(CLI::NonNegativeNumber);
  app->add_option("-c,--check", o->check, "Compare every byte of the results (0 or 1)");
  app->add_option("-r,--root", o->root, "Root of broadcast and reduce")
      ->check(CLI::NonNegativeNumber);
  app->add_flag("-R,--register", o->register_buffers, "Register the user buffers with NCCL");
  app->add_option("-T,--timeout", o->job.timeout_s, "Seconds after which all ranks are ended")
      ->check(CLI::PositiveNumber);
  app->add_flag("--corrupt", o->corrupt, "Spoil one byte of each result: it must be reported");
}

}  // namespace

std::optional<Options> parse_options(int argc, char** argv, int* status) {
  CLI::App app("Runs NCCL collectives and compares every byte; one local process for each GPU");
  Options options;
  Names names;
  add_name_options(&app, &names);
  add_options(&app, &options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    *status = app.exit(error);
    return std::nullopt;
  }
  if (!resolve(names, &options)) {
    std::fprintf(stderr, "no such collective, type or reduction: see --help\n");
    *status = kBadUsage;
    return std::nullopt;
  }
  if (options.most_bytes == 0) options.most_bytes = options.least_bytes;
  if (options.most_bytes < options.least_bytes) {  // nothing would be run, and none of it wrong
    std::fprintf(stderr, "--maxbytes is less than --minbytes\n");
    *status = kBadUsage;
    return std::nullopt;
  }
  options.root %= options.job.ranks();
  options.job.arguments.assign(argv + 1, argv + argc);
  return options;
}

const char* type_name(ncclDataType_t type) { return name_in(types(), type); }
const char* operation_name(ncclRedOp_t operation) { return name_in(operations(), operation); }

}  // namespace nccl_test
