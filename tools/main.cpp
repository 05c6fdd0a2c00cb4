// SPDX-License-Identifier: Apache-2.0
// `allot`: reads the command line, runs one command, turns what it throws into exit status 2.
#include "command_line.hpp"
#include "commands.hpp"

#include <allot/model/config_error.hpp>
#include <allot/model/deployment.hpp>

#include <cstdio>
#include <exception>

namespace {

int run(int argc, char const* const* argv) {
  using namespace allot::tools;
  auto const asked = read_command_line(argc, argv);
  if (asked.print) {
    std::fputs(asked.print->c_str(), stdout);
    return 0;
  }
  if (asked.plan) { return run_plan(*asked.plan); }
  if (asked.verify) { return run_verify(*asked.verify); }
  if (asked.doctor) { return run_doctor(*asked.doctor); }
  return run_solve(*asked.solve_from);
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int wrong_input = 2;
  try {
    int const status = run(argc, argv);
    if (std::fflush(stdout) != 0) {
      std::perror("allot: standard output");
      return wrong_input;
    }
    return status;
  } catch (allot::tools::usage_error const& error) {
    std::fprintf(stderr, "allot: %s\nTry `allot --help`.\n", error.what());
  } catch (allot::model::deployment_error const& error) {
    bool const named = !error.setting().empty();
    std::fprintf(stderr, "allot: %s%s%s%s%s%s\n", named ? "--" : "", error.setting().c_str(),
                 error.value().empty() ? "" : " ", error.value().c_str(), named ? ": " : "",
                 error.what());
  } catch (std::exception const& error) { std::fprintf(stderr, "allot: %s\n", error.what()); }
  return wrong_input;
}
