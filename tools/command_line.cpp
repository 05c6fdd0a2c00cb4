// SPDX-License-Identifier: Apache-2.0
// The only file that includes CLI11: it is slow to compile.
#include "command_line.hpp"
#include "help_text.hpp"
#include "text_format.hpp"
#include "words.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <utility>

#ifndef ALLOT_VERSION
#error "ALLOT_VERSION comes from meson.build"
#endif

namespace allot::tools {
namespace {

/// Lists an option as "--free BYTES" and nothing else: what is needed stands in its text.
class plain_formatter : public CLI::FormatterBase {
 public:
  std::string make_help(CLI::App const* app, std::string name,
                        CLI::AppFormatMode /*mode*/) const override {
    auto out =
        "Usage: " + name + " " + usage_of(app->get_name()) + "\n\n" + app->get_description() + "\n";
    out += group_text(
        "Input", app->get_options([](CLI::Option const* one) { return one->get_positional(); }));
    for (auto const& group : app->get_groups()) {
      out += group_text(group, app->get_options([&group](CLI::Option const* one) {
        return one->nonpositional() && one->get_group() == group;
      }));
    }
    if (!app->get_subcommands({}).empty()) { out += command_list; }
    return out + "\n" + app->get_footer() + "\n";
  }

 private:
  static std::string group_text(std::string const& group,
                                std::vector<CLI::Option const*> const& options) {
    if (options.empty()) { return ""; }
    auto out = "\n" + group + ":\n";
    for (auto const* one : options) {
      auto const type = one->get_type_size() != 0 ? one->get_type_name() : std::string{};
      auto name = one->get_name(one->get_positional(), true);
      if (auto const value = name.find("{0}"); value != std::string::npos) {
        name.replace(value, 3, "[=N]");  // a flag that takes a number
      }
      out += two_columns(name + (type.empty() ? "" : " " + type), one->get_description(), 26);
    }
    return out;
  }
  static std::string usage_of(std::string const& command) {
    if (command == "plan") { return "MODEL --free BYTES [OPTION]..."; }
    if (command == "solve") { return "[FILE]"; }
    if (command == "verify") { return "[--device[=N]] [FILE]"; }
    if (command == "doctor") { return "[--json] [--bytes]"; }
    return "COMMAND";
  }
};

constexpr char commands[] = "plan, solve, verify or doctor";

template <class Value>
Value named(std::string const& option, std::string const& text,
            std::initializer_list<std::pair<char const*, Value>> names) {
  std::string all;
  for (auto const& [name, value] : names) {
    if (text == name) { return value; }
    all += (all.empty() ? "" : ", ") + std::string{name};
  }
  throw option_error(option, text.empty() ? "\"\"" : text, "expected one of " + all);
}

/// Adds `--name TYPE text` whose value goes through `take`, given once.
template <class Take>
CLI::Option* add(CLI::App& app, std::string const& group, std::string const& name,
                 std::string const& type, std::string const& text, Take take) {
  return app
      .add_option_function<std::vector<std::string>>(
          name,
          [name, take](std::vector<std::string> const& values) {
            if (values.size() > 1) { throw option_error(name, "", "given twice; give it once"); }
            take(name, values.front());
          },
          text)
      ->group(group)
      ->type_name(type)
      ->allow_extra_args(false);
}

void add_memory(CLI::App& app, plan_options& out) {
  std::string const group = "Memory";
  add(app, group, "--free", "BYTES", "free bytes of the GPU before the model is loaded\n(required)",
      [&out](auto const& name, auto const& value) { out.free_bytes = parse_bytes(name, value); });
  add(app, group, "--ratio", "SHARE", "share of the free bytes that may be used (0.9)",
      [&out](auto const& name, auto const& value) { out.ratio = parse_share(name, value); });
  add(app, group, "--weights", "BYTES",
      "resident weights, all but the experts in slots,\ntaken from that share (0, with a note)",
      [&out](auto const& name, auto const& value) {
        out.weights_bytes = parse_bytes(name, value);
      });
  app.add_option_function<std::vector<std::string>>(
         "--charge",
         [&out](std::vector<std::string> const& values) {
           for (auto const& one : values) {
             auto const charge = parse_charge("--charge", one);
             for (auto const& earlier : out.charges) {
               if (earlier.name == charge.name) {
                 throw option_error("--charge", one,
                                    "a name of its own: two charges have this one");
               }
             }
             out.charges.push_back(charge);
           }
         },
         "a fixed line, such as a workspace; may be repeated")
      ->group(group)
      ->type_name("NAME=BYTES")
      ->allow_extra_args(false);
}

void add_context(CLI::App& app, plan_options& out) {
  std::string const group = "Context";
  add(app, group, "--context", "TOKENS",
      "tokens of KV cache to hold: a floor under\n"
      "experts_first (8192), a target under context_first\n"
      "(the model's max_position_embeddings)",
      [&out](auto const& name, auto const& value) {
        out.context_tokens = parse_tokens(name, value);
      });
  add(app, group, "--max-tokens", "TOKENS",
      "grow the KV cache no further than this (never\nbelow the floor)",
      [&out](auto const& name, auto const& value) { out.max_tokens = parse_tokens(name, value); });
  add(app, group, "--pages", "N", "exactly this many usable pages",
      [&out](auto const& name, auto const& value) { out.pages = parse_count(name, value); });
  add(app, group, "--tokens", "TOKENS", "exactly this many tokens, a multiple of the page",
      [&out](auto const& name, auto const& value) { out.tokens = parse_tokens(name, value); });
  add(app, group, "--max-running", "N", "requests that run at once: recurrent states (4)",
      [&out](auto const& name, auto const& value) {
        out.deployment.max_running = parse_count(name, value);
        out.max_running_given = true;
      });
  add(app, group, "--page-tokens", "N", "tokens per page (16)",
      [&out](auto const& name, auto const& value) {
        out.deployment.page_tokens = parse_count(name, value);
      });
  add(app, group, "--kv-dtype", "TYPE", model::element_names() + "\n(the model's own)",
      [&out](auto const& name, auto const& value) {
        out.deployment.kv_dtype = model::element_named(value);
        if (!out.deployment.kv_dtype) {
          throw option_error(name, value, "expected one of " + model::element_names());
        }
      });
  app.add_flag("--mtp", out.deployment.prediction_layers,
               "keep KV rows for multi-token prediction layers too")
      ->group(group);
}

void add_experts(CLI::App& app, plan_options& out) {
  std::string const group = "Experts";
  add(app, group, "--objective", "NAME",
      "who is served first: experts_first, context_first\n(experts_first)",
      [&out](auto const& name, auto const& value) {
        out.objective = named<objective>(name, value,
                                         {{"experts_first", objective::experts_first},
                                          {"context_first", objective::context_first}});
      });
  add(app, group, "--slots", "N", "exactly this many experts resident, over all layers",
      [&out](auto const& name, auto const& value) { out.slots = parse_count(name, value); });
  add(app, group, "--prefill-buffer", "MODE",
      "slots of two layers that prefill borrows: off,\npreferred, required (preferred)",
      [&out](auto const& name, auto const& value) {
        out.buffer = named<prefill_buffer>(name, value,
                                           {{"off", prefill_buffer::off},
                                            {"preferred", prefill_buffer::preferred},
                                            {"required", prefill_buffer::required}});
      });
  add(app, group, "--expert-format", "NAME",
      "bf16, fp8_block128, nvfp4, mxfp4, q4_0, q4_k, q8_0\n(what the configuration says)",
      [&out](auto const& name, auto const& value) {
        out.deployment.experts_stored = model::expert_format_named(value);
        if (!out.deployment.experts_stored) {
          throw option_error(name, value, "expected one of " + model::expert_format_names());
        }
      });
  add(app, group, "--tp", "N",
      "tensor-parallel ranks; the plan is of one rank, which\nkeeps 1/N of every expert (1)",
      [&out](auto const& name, auto const& value) {
        out.deployment.tp = parse_count(name, value);
      });
}

void add_plan(CLI::App& app, plan_options& out) {
  app.footer(plan_footer);
  app.add_option(
         "MODEL", out.model,
         "a Hugging Face config.json, a folder that holds one,\nor - for the standard input")
      ->type_name("");
  add_memory(app, out);
  add_context(app, out);
  add_experts(app, out);
  app.add_flag("--json", out.json, "print one JSON answer, with the request it made")
      ->group("Output");
  app.add_flag("--bytes", out.exact_bytes, "print exact bytes instead of GiB")->group("Output");
}

/// Says what is wrong with a word that nothing takes.
std::string unexpected(CLI::App const& app, std::string const& word) {
  auto const name = word.substr(0, word.find('='));
  if (!name.starts_with('-')) {
    bool const takes_input =
        !app.get_options([](CLI::Option const* one) { return one->get_positional(); }).empty();
    return name + ": not expected here" + (takes_input ? "; one input at a time" : "");
  }
  auto const out = name + ": no such option of `allot " + app.get_name() + "`";
  std::vector<std::string> known;
  for (auto const* option : app.get_options()) {
    known.push_back(option->get_name());
  }
  auto const meant = nearest_word(name, known);
  return meant.empty() ? out : out + "; did you mean " + meant + "?";
}

/// \errors  option_error when it is no number of a device
int device_number(std::string const& text) {
  int number = -1;
  auto const* const end = text.data() + text.size();
  auto const [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end || number < 0) {
    throw option_error("--device", text, "expected the number of a GPU, 0 for the first");
  }
  return number;
}

}  // namespace

command read_command_line(int argc, char const* const* argv) {
  CLI::App app{top_text, "allot"};
  app.formatter(std::make_shared<plain_formatter>());
  app.footer(top_footer);
  app.set_help_flag("--help,-h", "print this help")->group("Options");
  app.set_version_flag("--version", "allot " ALLOT_VERSION, "print the version")->group("Options");
  app.require_subcommand(1);

  plan_options plan;
  std::string file = "-";
  auto* const plan_app = app.add_subcommand("plan", plan_text);
  auto* const solve_app = app.add_subcommand("solve", solve_text);
  add_plan(*plan_app, plan);
  auto* const verify_app = app.add_subcommand("verify", verify_text);
  solve_app->footer(solve_footer);
  verify_app->footer(verify_footer);
  for (auto* const one : {solve_app, verify_app}) {
    one->add_option("FILE", file, "JSON Lines to read, or - for the standard input (-)")
        ->type_name("");
  }
  std::string device;
  auto* const device_option =
      verify_app->add_flag("--device{0}", device, "allocate on GPU N (0); else in host memory")
          ->group("Where");
  doctor_options doctor;
  auto* const doctor_app = app.add_subcommand("doctor", doctor_text);
  doctor_app->footer(doctor_footer);
  doctor_app->add_flag("--json", doctor.json, "print one JSON object")->group("Output");
  doctor_app->add_flag("--bytes", doctor.exact_bytes, "print exact bytes instead of GiB")
      ->group("Output");
  for (auto* const one : {plan_app, solve_app, verify_app, doctor_app}) {
    one->group("Commands");
    one->set_help_flag("--help,-h", "print this help")->group("Output");
  }

  command out;
  try {
    auto words = with_negative_values(argc, argv);
    std::ranges::reverse(words);  // what the library takes
    app.parse(words);
  } catch (CLI::CallForHelp const&) {
    out.print = app.help();
    return out;
  } catch (CLI::CallForVersion const&) {
    out.print = "allot " ALLOT_VERSION "\n";
    return out;
  } catch (CLI::ExtrasError const&) {
    auto const* const chosen = *plan_app     ? plan_app
                               : *solve_app  ? solve_app
                               : *verify_app ? verify_app
                               : *doctor_app ? doctor_app
                                             : nullptr;
    bool const number = file.find_first_not_of("0123456789") == std::string::npos;
    if (*verify_app && !device_option->empty() && number) {
      throw usage_error("--device " + file + ": a number follows an equals sign: --device=" + file);
    }
    if (chosen != nullptr) { throw usage_error(unexpected(*chosen, chosen->remaining().front())); }
    throw usage_error(std::string{argv[1]} + ": no such command; expected " + commands);
  } catch (CLI::RequiredError const&) {
    throw usage_error(argc < 2 ? std::string{"expected a command: "} + commands
                               : std::string{argv[1]} + ": no such command; expected " + commands);
  } catch (CLI::ArgumentMismatch const& error) {
    auto const name = std::string{error.what()};
    throw usage_error(name.substr(0, name.find(':')) + ": its value is missing");
  } catch (CLI::ParseError const& error) { throw usage_error(error.what()); }
  if (*solve_app) {
    out.solve_from = file;
    return out;
  }
  if (*verify_app) {
    out.verify = verify_options{.file = file};
    if (!device_option->empty()) { out.verify->device = device_number(device); }
    return out;
  }
  if (*doctor_app) {
    out.doctor = doctor;
    return out;
  }
  if (plan.model.empty()) {
    throw option_error("MODEL", "", "missing; expected a config.json or a folder that holds one");
  }
  if (plan_app->get_option("--free")->empty()) {
    throw option_error("--free", "",
                       "missing; expected the free bytes of the GPU before the model is loaded, "
                       "such as --free 24GiB");
  }
  out.plan = plan;
  return out;
}

}  // namespace allot::tools
