// SPDX-License-Identifier: Apache-2.0
// PTX text to IR. The parser resolves names; decode_*.cpp choose a handler per instruction.
#pragma once

#include "ir.hpp"
#include "lex.hpp"

namespace ptxemu {

// One operand: a register or constant, a {vector} of them, or a [memory] operand.
struct Operand {
  vector<int> regs;
  vector<int> coords;  // second bracket group: [tensorMap, {c0, c1}]
  s64 offset = 0;
  int pred_dst = -1;             // q in "p|q"
  bool negated = false;          // "!p"
  Space space = Space::Generic;  // of a named variable
};

class Parser {
 public:
  explicit Parser(Module& m);
  void parse();

  Module& module;
  vector<string> unsupported;  // text of the instructions that will trap

  // Used by the decoders.
  int const_reg(u64 value);    // register that holds a constant
  int special_reg(int which);  // register that holds a SpecialReg
  int sink_reg();              // register for ignored results
  int const_value(int reg) const;
  bool is_clock(int reg) const;
  bool in_entry() const { return func_ && func_->entry; }

 private:
  [[noreturn]] void fail(string const& what);
  string const& current() const { return tokens_[pos_].text; }
  string next() { return tokens_[pos_++].text; }
  bool accept(char const* s);
  void expect(char const* s);
  void skip_past(char const* s);

  int new_reg() { return module.num_regs++; }
  int find_reg(string const& name) const;
  Var* find_var(string const& name);

  void variable(Space space, bool external);
  void initializer(u8* memory, Type type, u64 bytes);
  vector<pair<string, Var>> parameter_list(bool entry, u64& offset);
  void function(bool entry);
  void register_declaration();
  void label();
  void instruction();
  void branch(Ins& ins, bool indexed);
  void call(Ins& ins);
  int scalar(bool& negated, Space* space = nullptr);
  void bracket_list(vector<int>& out);
  Operand operand();

  vector<Token> tokens_;
  size_t pos_ = 0;
  Func* func_ = nullptr;
  string label_prefix_;
  vector<map<string, int>> reg_scopes_;
  vector<map<string, Var>> var_scopes_;
  map<string, int> labels_;
  map<string, vector<string>> target_lists_;
  vector<pair<int, string>> branch_fixups_, indexed_fixups_;
  map<pair<int, u64>, int> reg_cache_;
  int sink_ = -1;
  string unknown_register_;  // set by scalar(), makes the instruction unsupported
};

}  // namespace ptxemu
