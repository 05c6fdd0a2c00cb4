// SPDX-License-Identifier: Apache-2.0
// Parser for the subset of PTX that nvcc and clang emit.

#include "decode.hpp"
#include "lex.hpp"
#include "memory.hpp"
#include "parser.hpp"

namespace ptxemu {
namespace {

constexpr u64 kRedZoneBytes = 16;       // after a static shared or a local variable
constexpr u64 kDynamicAddress = ~0ull;  // address of an extern __shared__ array

Type const* find_type(string const& token) {
  if (token.empty() || token[0] != '.') return nullptr;
  auto it = kTypeNames.find(token.substr(1));
  return it == kTypeNames.end() ? nullptr : &it->second;
}

bool is_space_keyword(string const& s) {
  return s == ".ptr" || s == ".global" || s == ".shared" || s == ".const" || s == ".local";
}

}  // namespace

Parser::Parser(Module& m) : module(m), tokens_(tokenize(m.text)) {
  reg_scopes_.emplace_back();
  var_scopes_.emplace_back();
  m.lines.emplace_back();
  for (char c : m.text) {
    if (c == '\n') {
      m.lines.emplace_back();
    } else {
      m.lines.back() += c;
    }
  }
}

void Parser::fail(string const& what) {
  int line = tokens_[pos_].line;
  throw Error("PTX parse: " + what + " near '" + tokens_[pos_].text + "' line " + to_string(line) +
              ": " + (line > 0 ? module.lines[line - 1] : ""));
}

bool Parser::accept(char const* s) {
  if (current() != s) return false;
  pos_++;
  return true;
}

void Parser::expect(char const* s) {
  if (!accept(s)) fail(string("expected ") + s);
}

void Parser::skip_past(char const* s) {
  while (next() != s) {
    if (pos_ >= tokens_.size()) throw Error(string("PTX parse: missing ") + s);
  }
}

int Parser::const_reg(u64 value) {
  auto [it, fresh] = reg_cache_.try_emplace({0, value}, 0);
  if (fresh) {
    it->second = new_reg();
    module.constants.push_back({it->second, value});
  }
  return it->second;
}

int Parser::special_reg(int which) {
  auto [it, fresh] = reg_cache_.try_emplace({1, u64(which)}, 0);
  if (fresh) {
    it->second = new_reg();
    module.special_regs.push_back({it->second, which});
  }
  return it->second;
}

int Parser::sink_reg() {
  if (sink_ < 0) sink_ = new_reg();
  return sink_;
}

int Parser::const_value(int reg) const {
  for (auto& [r, v] : module.constants) {
    if (r == reg) return int(v);
  }
  throw Error("constant expected");
}

bool Parser::is_clock(int reg) const {
  for (auto& [r, s] : module.special_regs) {
    if (r == reg) return s == Clock || s == GlobalTimer;
  }
  return false;
}

int Parser::find_reg(string const& name) const {
  for (size_t k = reg_scopes_.size(); k-- > 0;) {
    auto it = reg_scopes_[k].find(name);
    if (it != reg_scopes_[k].end()) return it->second;
  }
  return -1;
}

Var* Parser::find_var(string const& name) {
  for (size_t k = var_scopes_.size(); k-- > 0;) {
    auto it = var_scopes_[k].find(name);
    if (it != var_scopes_[k].end()) return &it->second;
  }
  auto it = module.vars.find(name);
  return it == module.vars.end() ? nullptr : &it->second;
}

// A variable declaration after its state space keyword.
void Parser::variable(Space space, bool external) {
  u64 align = 0;
  Type type = B8;
  int vec = 1;
  for (;;) {
    string s = next();
    if (s == ".align") {
      align = parse_number(next());
    } else if (s == ".v2" || s == ".v4") {
      vec = s[2] - '0';
    } else if (s == ".attribute") {
      skip_past(")");
    } else if (Type const* t = find_type(s)) {
      type = *t;
      break;
    } else if (s != ".ptr") {
      pos_--;
      fail("variable declaration");
    }
  }
  do {
    string name = next();
    u64 count = 1;
    bool unsized = false;
    while (accept("[")) {
      if (accept("]")) {
        unsized = true;
        count = 0;
      } else {
        count *= parse_number(next());
        expect("]");
      }
    }
    Var v{space, 0, count * type_size(type) * vec, type};
    u64 natural = max<u64>(align, type_size(type) * vec);
    if (space == Space::Shared) {
      if (unsized || external) {
        v.addr = kDynamicAddress;
        module.dynamic_align = max(module.dynamic_align, natural);
      } else {
        module.shared_bytes = round_up(module.shared_bytes, max<u64>(natural, 16));
        v.addr = module.shared_bytes;
        module.shared_bytes += v.size;
        (func_ ? func_->red_zones : module.red_zones)
            .push_back({module.shared_bytes, kRedZoneBytes});
        module.shared_bytes += kRedZoneBytes;
      }
    } else if (space == Space::Local) {
      v.addr = round_up(module.local_bytes, natural);
      module.local_bytes = v.addr + v.size + kRedZoneBytes;
      module.local_gaps.resize(module.local_bytes, 1);
      std::fill_n(module.local_gaps.begin() + s64(v.addr), v.size, 0);
    } else if (space == Space::FuncParam) {
      v.addr = module.func_param_bytes = round_up(module.func_param_bytes, 16);
      module.func_param_bytes += max<u64>(v.size, 8);
    } else {
      u8* memory =
          static_cast<u8*>(allocate_memory(max<u64>(v.size, 1), MemoryKind::ModuleVariable));
      v.addr = u64(memory);
      if (accept("=")) initializer(memory, type, v.size);
    }
    if (func_ && var_scopes_.size() > 1) {
      var_scopes_.back()[name] = v;
    } else {
      module.vars[name] = v;
    }
  } while (accept(","));
  expect(";");
}

void Parser::initializer(u8* memory, Type type, u64 bytes) {
  u64 offset = 0;
  int const size = type_size(type);
  auto element = [&] {
    bool negative = accept("-");
    string s = next();
    u64 v = 0;
    if (s == "generic") {  // generic(variable)
      expect("(");
      if (Var* x = find_var(next())) v = x->addr;
      expect(")");
    } else if (is_digit(s[0])) {
      v = parse_number(s);
    } else {
      if (Var* x = find_var(s)) v = x->addr;
      if (accept("(")) skip_past(")");
    }
    if (accept("+")) v += parse_number(next());
    if (negative) v = -v;
    if (offset + size <= bytes) memcpy(memory + offset, &v, size);
    offset += size;
  };
  if (!accept("{")) {
    element();
    return;
  }
  for (int depth = 1; depth;) {
    if (accept("{")) {
      depth++;
    } else if (accept("}")) {
      depth--;
    } else if (!accept(",")) {
      element();
    }
  }
}

void Parser::parse() {
  bool external = false;
  while (!current().empty()) {
    string s = next();
    if (s == ".version" || s == ".address_size") {
      pos_++;
    } else if (s == ".target") {
      module.target = atoi(next().c_str() + 3);
      while (accept(","))
        pos_++;
    } else if (s == ".visible" || s == ".weak" || s == ".common") {
    } else if (s == ".extern") {
      external = true;
    } else if (s == ".file") {
      pos_ += 2;
      while (accept(","))
        pos_++;
    } else if (s == ".section") {
      while (current() != "{")
        pos_++;
      int depth = 0;
      do {
        if (current() == "{") depth++;
        if (current() == "}") depth--;
        pos_++;
      } while (depth);
    } else if (s == ".pragma") {
      skip_past(";");
    } else if (s == ".global" || s == ".const" || s == ".shared") {
      variable(s == ".global"  ? Space::Global
               : s == ".const" ? Space::Const
                               : Space::Shared,
               external);
      external = false;
    } else if (s == ".entry" || s == ".func") {
      function(s == ".entry");
      external = false;
    } else {
      pos_--;
      fail("unknown directive");
    }
  }
  for (auto& [index, list] : indexed_fixups_) {
    for (auto& l : target_lists_.at(list))
      module.code[index].list.push_back(labels_.at(l));
  }
  for (auto& [index, name] : branch_fixups_) {
    auto it = labels_.find(name);
    if (it == labels_.end()) throw Error("PTX parse: label " + name + " not found");
    module.code[index].target = it->second;
  }
  for (Ins& i : module.code) {
    if (!i.call) continue;
    auto it = module.funcs.find(i.call->name);
    i.call->callee = it == module.funcs.end() ? nullptr : it->second;
  }
}

vector<pair<string, Var>> Parser::parameter_list(bool entry, u64& offset) {
  vector<pair<string, Var>> out;
  while (!accept(")")) {
    if (accept(",")) continue;
    if (!accept(".param")) accept(".reg");
    u64 align = 0;
    Type type = B64;
    while (current()[0] == '.') {
      string s = next();
      if (s == ".align") {
        align = parse_number(next());
      } else if (Type const* t = find_type(s)) {
        type = *t;
        break;
      } else if (!is_space_keyword(s)) {
        fail("parameter");
      }
    }
    // ".ptr .global .align 8" describes the pointee.
    while (is_space_keyword(current()) || current() == ".align") {
      if (next() == ".align") pos_++;
    }
    string name = next();
    u64 count = 1;
    if (accept("[") && !accept("]")) {
      count = parse_number(next());
      expect("]");
    }
    Var v{entry ? Space::Param : Space::FuncParam, 0, count * type_size(type), type};
    if (entry) {
      v.addr = offset = round_up(offset, max<u64>(align, type_size(type)));
      offset += v.size;
    } else {
      v.addr = module.func_param_bytes = round_up(module.func_param_bytes, 16);
      module.func_param_bytes += max<u64>(8, v.size);
    }
    out.push_back({name, v});
  }
  return out;
}

void Parser::function(bool entry) {
  auto* f = new Func;  // lives as long as the module, which is never unloaded
  f->entry = entry;
  vector<pair<string, Var>> rets, params;
  u64 offset = 0;
  if (!entry && accept("(")) rets = parameter_list(false, offset);
  f->name = next();
  if (accept("(")) params = parameter_list(entry, offset);
  for (auto& [name, v] : rets)
    f->rets.push_back(v);
  if (entry) {
    f->param_bytes = offset;
    f->param_buffer = static_cast<u8*>(aligned_alloc(128, round_up(offset + 128, 128)));
    memset(f->param_buffer, 0, round_up(offset + 128, 128));
  }
  for (auto& [name, v] : params) {
    if (entry) v.addr += u64(f->param_buffer);
    f->params.push_back(v);
  }
  while (current() != "{" && current() != ";") {
    string s = next();
    if (s == ".reqnctapercluster") {
      f->cluster_blocks = int(parse_number(next()));
      while (accept(","))
        f->cluster_blocks *= int(parse_number(next()));
    }
    if (s == ".maxntid" || s == ".reqntid") {
      f->max_threads = int(parse_number(next()));
      while (accept(","))
        f->max_threads *= int(parse_number(next()));
    }
  }
  if (accept(";")) return;  // declaration only
  func_ = f;
  module.funcs[f->name] = f;
  f->start = int(module.code.size());
  label_prefix_ = f->name + "/";
  reg_scopes_.emplace_back();
  var_scopes_.emplace_back();
  for (auto& [name, v] : rets)
    var_scopes_.back()[name] = v;
  for (auto& [name, v] : params)
    var_scopes_.back()[name] = v;
  // Shared variables of device functions stay allocated for all kernels; those of a kernel do not.
  u64 const shared_base = module.shared_bytes;
  f->red_zones = module.red_zones;
  expect("{");
  for (int depth = 1; depth;) {
    if (accept("{")) {
      depth++;
      reg_scopes_.emplace_back();
      var_scopes_.emplace_back();
    } else if (accept("}")) {
      depth--;
      reg_scopes_.pop_back();
      var_scopes_.pop_back();
    } else if (accept(".reg")) {
      register_declaration();
    } else if (accept(".shared")) {
      variable(Space::Shared, false);
    } else if (accept(".local")) {
      variable(Space::Local, false);
    } else if (accept(".param")) {
      variable(Space::FuncParam, false);
    } else if (accept(".global")) {
      variable(Space::Global, false);
    } else if (accept(".const")) {
      variable(Space::Const, false);
    } else if (current() == ".loc") {
      int line = tokens_[pos_].line;
      while (tokens_[pos_].line == line)
        pos_++;
    } else if (accept(".pragma")) {
      skip_past(";");
    } else if (tokens_[pos_ + 1].text == ":") {
      label();
    } else if (!accept(";")) {
      instruction();
    }
  }
  Ins end;
  end.kind = entry ? Kind::Exit : Kind::Return;
  end.handler = no_operation;
  end.text = "(end)";
  module.code.push_back(end);
  func_ = nullptr;
  f->shared_bytes = module.shared_bytes;
  f->local_bytes = module.local_bytes;
  if (entry) {
    module.shared_bytes = shared_base;
  } else {
    module.red_zones = f->red_zones;
  }
}

void Parser::register_declaration() {
  next();  // type
  do {
    string name = next();
    if (accept("<")) {
      int count = int(parse_number(next()));
      expect(">");
      for (int k = 0; k < count; k++)
        reg_scopes_.back()[name + to_string(k)] = new_reg();
    } else {
      reg_scopes_.back()[name] = new_reg();
    }
  } while (accept(","));
  expect(";");
}

void Parser::label() {
  string name = label_prefix_ + next();
  expect(":");
  if (accept(".branchtargets")) {
    vector<string>& targets = target_lists_[name];
    do {
      targets.push_back(label_prefix_ + next());
    } while (accept(","));
    expect(";");
  } else if (accept(".callprototype")) {
    skip_past(";");
  } else {
    labels_[name] = int(module.code.size());
  }
}

// A register, constant, special register or variable address. "_" gives -1.
int Parser::scalar(bool& negated, Space* space) {
  negated = accept("!");
  bool minus = accept("-");
  string s = next();
  if (s == "_") return -1;
  int reg = find_reg(s);
  if (reg >= 0) {
    if (minus) fail("negated register");
    return reg;
  }
  if (s == "WARP_SZ") return const_reg(kWarpSize);
  auto special = kSpecialRegNames.find(s);
  if (special != kSpecialRegNames.end()) return special_reg(special->second);
  if (is_digit(s[0]) || (s[0] == '.' && s.size() > 1 && is_digit(s[1]))) {
    u64 v = parse_number(s);
    return const_reg(minus ? -v : v);
  }
  if (Var* v = find_var(s)) {
    if (space) *space = v->space;
    if (v->space == Space::Shared && v->addr == kDynamicAddress) return special_reg(DynSmemBase);
    return const_reg(v->addr);
  }
  if (s[0] == '%') unknown_register_ = s;
  return const_reg(0);  // e.g. a function name
}

void Parser::bracket_list(vector<int>& out) {
  bool negated;
  while (!accept("}")) {
    if (!accept(",")) out.push_back(scalar(negated));
  }
}

Operand Parser::operand() {
  Operand o;
  bool negated;
  if (accept("{")) {
    bracket_list(o.regs);
  } else if (accept("[")) {
    o.regs.push_back(scalar(negated, &o.space));
    while (current() == "+" || current() == "-") {
      bool minus = next() == "-";
      if (accept("-")) minus = !minus;
      s64 v = s64(parse_number(next()));
      o.offset += minus ? -v : v;
    }
    while (accept(",")) {
      if (accept("{")) {
        bracket_list(o.coords);
      } else {
        o.regs.push_back(scalar(negated));
      }
    }
    expect("]");
  } else {
    o.regs.push_back(scalar(o.negated, &o.space));
    if (accept("+")) o.offset += s64(parse_number(next()));
    if (accept("|")) o.pred_dst = scalar(negated);
  }
  return o;
}

void Parser::branch(Ins& ins, bool indexed) {
  ins.handler = no_operation;
  if (indexed) {
    bool negated;
    ins.kind = Kind::BranchIndexed;
    ins.src[0] = scalar(negated);
    expect(",");
    indexed_fixups_.push_back({int(module.code.size()), label_prefix_ + next()});
  } else {
    ins.kind = Kind::Branch;
    branch_fixups_.push_back({int(module.code.size()), label_prefix_ + next()});
  }
  expect(";");
}

void Parser::call(Ins& ins) {
  auto* c = new Call;
  auto variable_of = [&](string const& name) {
    Var* v = find_var(name);
    if (!v) fail("call parameter " + name);
    return v;
  };
  if (accept("(")) {
    c->ret = int(variable_of(next())->addr);
    expect(")");
    expect(",");
  }
  c->name = next();
  if (accept(",")) {
    if (accept("(")) {
      while (!accept(")")) {
        if (accept(",")) continue;
        Var* v = variable_of(next());
        c->args.push_back({int(v->addr), int(v->size)});
      }
    }
    if (accept(",")) next();  // prototype of an indirect call
  }
  expect(";");
  ins.kind = Kind::Call;
  ins.call = c;
  ins.handler = no_operation;
}

void Parser::instruction() {
  Ins ins;
  ins.line = tokens_[pos_].line;
  ins.text = module.lines[ins.line - 1].c_str();
  if (accept("@")) {
    ins.pred_negated = accept("!");
    ins.pred = find_reg(next());
    if (ins.pred < 0) fail("guard predicate");
  }
  vector<string> parts = split_dots(next());
  string const& op = parts[0];
  if (op == "call") {
    call(ins);
  } else if (op == "bra" || op == "brx") {
    branch(ins, op == "brx");
  } else {
    vector<Operand> operands;
    unknown_register_.clear();
    while (!accept(";")) {
      if (!accept(",")) operands.push_back(operand());
    }
    try {
      if (!unknown_register_.empty()) throw Error("register " + unknown_register_);
      decode(*this, ins, parts, operands);
    } catch (std::exception& e) {
      // Becomes a trap: code that is never executed may contain anything.
      auto* text = new string(string("UNSUPPORTED (") + e.what() + ") " + ins.text);
      ins.handler = trap;
      ins.kind = Kind::Simple;
      ins.text = text->c_str();
      unsupported.push_back(*text);
    }
  }
  module.code.push_back(ins);
}

}  // namespace ptxemu
