// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/cli/stalls.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "src/observe/state_page.h"

namespace fabrail::cli {

namespace {

using observe::StatePage;
using std::chrono::steady_clock;

struct Options {
  int pid = 0;
  double wait_s = 2;
};

std::vector<std::size_t> devices_of(const StatePage& page) {
  std::vector<std::size_t> devices;
  for (std::size_t device = 0; device < StatePage::kDevices; ++device) {
    if (page.has_device(device)) devices.push_back(device);
  }
  return devices;
}

// The letter after the command's name, which is in parentheses and may hold any character.
bool is_stopped(int pid) {
  std::ifstream stream("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(stream, line);
  const std::size_t end = line.rfind(") ");
  return end != std::string::npos && (line[end + 2] == 'T' || line[end + 2] == 't');
}

void explain_silence(int pid, const std::vector<std::size_t>& silent, double wait_s) {
  for (const std::size_t device : silent) {
    fmt::print("device {}: no answer within {} s\n", device, wait_s);
  }
  if (is_stopped(pid)) {
    fmt::print("The process is stopped (SIGSTOP, or a debugger).\n");
  } else {
    fmt::print(
        "NCCL does not wait for the network there: it calls the plugin only while an operation\n"
        "is under way. Either nothing is, or the GPU or the program has not come so far.\n");
  }
}

// Prints each answer when it comes; the devices that gave none.
std::vector<std::size_t> print_answers(StatePage& page, std::vector<std::size_t> devices,
                                       double wait_s) {
  const auto deadline = steady_clock::now() + std::chrono::duration<double>(wait_s);
  const std::uint32_t asked = page.ask();
  while (true) {
    std::erase_if(devices, [&](std::size_t device) {
      const auto text = page.answer_to(device, asked);
      if (text) fmt::print("{}", *text);
      return text.has_value();
    });
    if (devices.empty() || steady_clock::now() >= deadline) return devices;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

int show(const Options& options) {
  auto page = StatePage::find(options.pid);
  if (!page.ok()) {
    fmt::print(stderr, "fabrail: {}\n", page.error().detail);
    return 2;
  }
  const std::vector<std::size_t> devices = devices_of(page.value());
  if (devices.empty()) {
    fmt::print("No connection has been set up: NCCL has not used any device of fabrail yet.\n");
    return 0;
  }
  const auto silent = print_answers(page.value(), devices, options.wait_s);
  if (!silent.empty()) explain_silence(options.pid, silent, options.wait_s);
  return silent.empty() ? 0 : 1;
}

}  // namespace

void add_stalls(CLI::App& app, int& exit_code) {
  auto* stalls = app.add_subcommand(
      "stalls", "show what the communicators of a running process wait for, without disturbing it");
  auto options = std::make_shared<Options>();
  stalls->add_option("PID", options->pid, "a process that uses fabrail through NCCL")
      ->required()
      ->check(CLI::PositiveNumber);
  stalls->add_option("--wait", options->wait_s, "how long to wait for an answer, in seconds")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  stalls->callback([options, &exit_code] { exit_code = show(*options); });
}

}  // namespace fabrail::cli
