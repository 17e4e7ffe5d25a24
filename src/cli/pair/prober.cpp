// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// One side at work.
#include "src/cli/pair/prober.h"

#include <sched.h>

#include <algorithm>
#include <cmath>

#include "src/cli/pair/statistics.h"

namespace fabrail::cli::pair {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPings = 31;
constexpr std::size_t kDepth = 8;  // writes outstanding
// Each costs the whole time limit: after so many it is clear that large messages do not arrive.
constexpr std::size_t kMostStuck = 6;
// How seldom rails are polled on which nothing happens: a poll of every rail costs microseconds.
constexpr std::uint64_t kRoundsPerLookAround = 16;
constexpr std::uint64_t kRoundsPerCheck = 4096;
constexpr auto kSettling = std::chrono::seconds(2);

double micros(Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

}  // namespace

Prober::Prober(const Options& options, Partner& partner, std::vector<std::unique_ptr<Rail>>& rails,
               std::size_t peers)
    : options_(options),
      partner_(partner),
      rails_(rails),
      outgoing_(rails_.size(), peers),
      incoming_(peers, rails_.size()) {
  step_.id = partner.is_a() ? 1 : 2;  // odd and even: an answer never fits a step of the other side
}

template <class Turn>
void Prober::take_turns(Turn&& mine) {
  const auto answer = [&] {
    if (!poll()) sched_yield();
  };
  if (partner_.is_a()) mine();
  partner_.exchange("", answer);
  if (!partner_.is_a()) mine();
  partner_.exchange("", answer);
}

Paths Prober::run() {
  take_turns([&] { greet_all(); });
  learn_arrivals();
  take_turns([&] {
    measure_all();
    measure_again_what_is_slow();
  });
  const Grid theirs = decode_grid(partner_.exchange(encode(outgoing_), [&] { poll(); }));
  if (theirs.rows == incoming_.rows && theirs.columns == incoming_.columns) incoming_ = theirs;
  return {std::move(outgoing_), std::move(incoming_)};
}

bool Prober::settle() {
  const auto deadline = Clock::now() + kSettling;
  const auto idle = [&] {
    return std::all_of(rails_.begin(), rails_.end(),
                       [](const std::unique_ptr<Rail>& rail) { return rail->idle(); });
  };
  while (!idle()) {
    if (Clock::now() > deadline) return false;
    if (!poll()) sched_yield();
  }
  return true;
}

void Prober::begin_step() { step_ = {.id = step_.id + 2, .error = {}}; }

template <class Done>
bool Prober::wait(Done&& done) {
  const auto deadline = Clock::now() + std::chrono::seconds(options_.timeout_s);
  while (!done()) {
    if (poll()) continue;
    if (rounds_ % kRoundsPerCheck == 0) partner_.check_alive();
    if (Clock::now() > deadline) return false;
    sched_yield();
  }
  return true;
}

/// Whether anything has happened.
bool Prober::poll() {
  ++rounds_;
  if (poll(busy_)) return true;
  if (rounds_ % kRoundsPerLookAround != 0) return false;
  bool moved = false;
  for (std::size_t rail = 0; rail < rails_.size(); ++rail) moved = poll(rail) || moved;
  return moved;
}

bool Prober::poll(std::size_t rail) {
  const auto events = rails_[rail]->poll();
  for (const Rail::Event& event : events) handle(rail, event);
  if (!events.empty()) busy_ = rail;
  return !events.empty();
}

void Prober::handle(std::size_t rail, const Rail::Event& event) {
  using Kind = Rail::Event::Kind;
  if (event.kind == Kind::kNote && event.note != NoteKind::kWelcome) {
    incoming_.at(event.peer, rail).reach = Reach::kArrived;
    rails_[rail]->send(event.peer, NoteKind::kWelcome, event.step);
    return;
  }
  if (event.step != step_.id) return;  // of a step that was given up
  if (event.kind == Kind::kNote) ++step_.welcomes;
  if (event.kind == Kind::kWriteDone) ++step_.writes;
  if (event.kind == Kind::kFailed) fail(rail, event);
}

void Prober::fail(std::size_t rail, const Rail::Event& event) {
  ++step_.failures;
  step_.error = event.error;
  outgoing_.at(rail, event.peer).error = event.error;
}

void Prober::greet_all() {
  begin_step();
  for (std::size_t rail = 0; rail < outgoing_.rows; ++rail) {
    for (std::size_t peer = 0; peer < outgoing_.columns; ++peer)
      rails_[rail]->send(peer, NoteKind::kHello, step_.id);
  }
  wait([&] { return step_.welcomes + step_.failures >= outgoing_.paths.size(); });
}

/// The receiver knows best what arrived: an answer can be lost by itself.
void Prober::learn_arrivals() {
  const Grid arrived = decode_grid(partner_.exchange(encode(incoming_), [&] { poll(); }));
  for (std::size_t i = 0; i < outgoing_.paths.size() && i < arrived.paths.size(); ++i) {
    Path& path = outgoing_.paths[i];
    const bool came = arrived.paths[i].reach == Reach::kArrived;
    path.reach = came ? Reach::kArrived : path.error.empty() ? Reach::kSilent : Reach::kFailed;
    if (came) path.error.clear();
  }
}

bool Prober::is_open(std::size_t rail, std::size_t peer) const {
  return outgoing_.at(rail, peer).reach == Reach::kArrived &&
         incoming_.at(peer, rail).reach == Reach::kArrived;
}

void Prober::measure_all() {
  for (std::size_t rail = 0; rail < outgoing_.rows; ++rail) {
    for (std::size_t peer = 0; peer < outgoing_.columns; ++peer) {
      if (!is_open(rail, peer)) continue;
      measure_small(rail, peer);
      if (outgoing_.at(rail, peer).micros && stuck_ < kMostStuck) measure_large(rail, peer);
    }
  }
}

/// The median of a few round trips: the first ones open connections.
void Prober::measure_small(std::size_t rail, std::size_t peer) {
  busy_ = rail;
  std::vector<double> times;
  for (int ping = 0; ping < kPings; ++ping) {
    begin_step();
    const auto start = Clock::now();
    rails_[rail]->send(peer, NoteKind::kHello, step_.id);
    const bool ended = wait([&] { return step_.welcomes + step_.failures > 0; });
    if (!ended || step_.failures > 0) {
      Path& path = outgoing_.at(rail, peer);
      path.reach = step_.failures > 0 ? Reach::kFailed : Reach::kSilent;
      return;
    }
    times.push_back(micros(Clock::now() - start) / 2);
  }
  Path& path = outgoing_.at(rail, peer);
  path.micros = std::min(path.micros.value_or(HUGE_VAL), median(times));
}

bool Prober::write_many(std::size_t rail, std::size_t peer, std::size_t count) {
  for (std::size_t posted = 0; posted < count; ++posted) {
    if (!wait([&] { return posted - step_.writes < kDepth || step_.failures > 0; })) return false;
    rails_[rail]->write(peer, options_.large_bytes, step_.id);
  }
  return wait([&] { return step_.writes == count || step_.failures > 0; });
}

/// Some providers complete a write when it has left: the answer to a note behind it says that it
/// has arrived.
bool Prober::finish_writes(std::size_t rail, std::size_t peer) {
  if (step_.failures > 0) return true;
  rails_[rail]->send(peer, NoteKind::kDone, step_.id);
  return wait([&] { return step_.welcomes + step_.failures > 0; });
}

void Prober::measure_large(std::size_t rail, std::size_t peer) {
  busy_ = rail;
  Path& path = outgoing_.at(rail, peer);
  begin_step();
  bool ended = write_many(rail, peer, 1) && finish_writes(rail, peer);
  const bool warm = ended && step_.failures == 0;
  if (warm) begin_step();
  const auto start = Clock::now();
  const auto count = static_cast<std::size_t>(options_.count);
  if (warm) ended = write_many(rail, peer, count) && finish_writes(rail, peer);
  const double time = micros(Clock::now() - start);
  if (!ended) {
    path.large_stuck = true;
    ++stuck_;
  } else if (step_.failures > 0) {
    path.reach = Reach::kFailed;
  } else {
    const double bits = 8.0 * static_cast<double>(options_.large_bytes * count);
    path.gbits = std::max(path.gbits.value_or(0), bits / time / 1000);
  }
}

/// A busy machine can make any single measurement slow.
void Prober::measure_again_what_is_slow() {
  const double slow = slow_limit(outgoing_, options_.slow_percent);
  const double late = late_limit(outgoing_, options_.slow_percent);
  for (std::size_t rail = 0; rail < outgoing_.rows; ++rail) {
    for (std::size_t peer = 0; peer < outgoing_.columns; ++peer) {
      const Path& path = outgoing_.at(rail, peer);
      const bool is_slow = path.gbits && *path.gbits < slow && stuck_ < kMostStuck;
      if (path.micros && *path.micros > late) measure_small(rail, peer);
      if (is_slow) measure_large(rail, peer);
    }
  }
}

}  // namespace fabrail::cli::pair
