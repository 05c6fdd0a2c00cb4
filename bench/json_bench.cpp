// SPDX-License-Identifier: Apache-2.0
// Requests a second of `allot solve`: JSON text in, JSON text out. Target: 100,000 on one core.
#include <allot/json/request_reader.hpp>
#include <allot/json/solve_lines.hpp>

#include <benchmark/benchmark.h>

#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

/// The requests of the contract's vectors, each as one line.
///
/// \param only  "ok": those that have a plan; an error: those refused so; empty: all
std::vector<std::string> requests(std::string_view only) {
  std::ifstream in{ALLOT_VECTORS "/solve_contract.jsonl"};
  std::vector<std::string> lines;
  for (std::string row; std::getline(in, row);) {
    // {"req":{…},"want":{…}}
    auto const want = row.rfind(",\"want\":");
    auto const error = row.find("\"error\":\"", want);
    std::string const outcome = error == std::string::npos
                                    ? "ok"
                                    : row.substr(error + 9, row.find('"', error + 9) - error - 9);
    if (only.empty() || outcome == only) { lines.push_back(row.substr(7, want - 7)); }
  }
  if (lines.empty()) { throw std::runtime_error{"no such requests"}; }
  return lines;
}

void count(benchmark::State& state, std::vector<std::string> const& lines) {
  std::size_t bytes = 0;
  for (std::string const& line : lines) {
    bytes += line.size();
  }
  auto const rounds = static_cast<double>(state.iterations());
  state.counters["requests/s"] =
      benchmark::Counter{rounds * static_cast<double>(lines.size()), benchmark::Counter::kIsRate};
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
}

/// Text to struct only.
void read(benchmark::State& state) {
  auto const lines = requests("");
  allot::json::request_reader reader;
  allot::json::owned_request request;
  for (auto _ : state) {
    for (std::string const& line : lines) {
      benchmark::DoNotOptimize(reader.read(line, request));
    }
  }
  count(state, lines);
}
BENCHMARK(read)->Unit(benchmark::kMicrosecond);

/// Text to text.
void answer(benchmark::State& state, std::string_view only) {
  auto const lines = requests(only);
  allot::json::line_solver solver;
  std::string out;
  for (auto _ : state) {
    out.clear();
    for (std::string const& line : lines) {
      solver.answer(line, out);
    }
    benchmark::DoNotOptimize(out.data());
  }
  count(state, lines);
}
BENCHMARK_CAPTURE(answer, all, "")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(answer, plans, "ok")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(answer, floors_exceed_budget, "floors_exceed_budget")
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(answer, pins_exceed_budget, "pins_exceed_budget")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(answer, kv_head_split, "kv_head_split")->Unit(benchmark::kMicrosecond);

/// Lines that are no request, the repairs of which are looked for on the line itself.
void answer_faults(benchmark::State& state) {
  std::vector<std::string> lines = requests("ok");
  for (std::string& line : lines) {
    line.insert(1, R"("objective_":"fast",)");
  }
  allot::json::line_solver solver;
  std::string out;
  for (auto _ : state) {
    out.clear();
    for (std::string const& line : lines) {
      solver.answer(line, out);
    }
    benchmark::DoNotOptimize(out.data());
  }
  count(state, lines);
}
BENCHMARK(answer_faults)->Unit(benchmark::kMicrosecond);

/// A stream of lines, as the command reads it.
void stream(benchmark::State& state) {
  auto const lines = requests("");
  std::string all;
  for (std::string const& line : lines) {
    all += line + '\n';
  }
  for (auto _ : state) {
    std::string_view rest = all;
    std::size_t written = 0;
    allot::json::solve_lines(
        [&](char* to, std::size_t size) {
          std::size_t const n = rest.copy(to, size);
          rest.remove_prefix(n);
          return n;
        },
        [&](std::string_view answers) { written += answers.size(); });
    benchmark::DoNotOptimize(written);
  }
  count(state, lines);
}
BENCHMARK(stream)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
