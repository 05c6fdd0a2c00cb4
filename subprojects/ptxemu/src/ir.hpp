// SPDX-License-Identifier: Apache-2.0
// The decoded program: instructions, functions and modules. Registers are plain indices into a
// per-warp register file; constants and special registers get a register of their own.
#pragma once

#include "ptx_types.hpp"

namespace ptxemu {

struct Warp;
struct Ins;
struct Func;

// Executes one instruction for the lanes in `mask`.
using Handler = void (*)(Warp&, Ins const&, u32 mask);

// How the scheduler treats an instruction. Collective ones wait until all lanes of their member
// mask have arrived.
enum class Kind : u8 { Simple, Branch, BranchIndexed, Return, Exit, Barrier, Collective, Call };

struct Call {
  string name;
  vector<pair<int, int>> args;  // offset and size in the caller's parameter area
  int ret = -1;                 // offset of the return value there, -1 for none
  Func* callee = nullptr;       // null: a runtime builtin such as vprintf
};

struct Ins {
  Handler handler = nullptr;
  Kind kind = Kind::Simple;
  bool pred_negated = false;
  bool ftz = false, sat = false;
  bool post_round = false;  // apply ftz/sat to the f32 result after the handler
  bool strong = false;      // volatile/relaxed/acquire/release: not a data race by itself
  bool plain_move = false;
  Space space = Space::Generic;
  Type type = TypeNone, type2 = TypeNone;
  int pred = -1;
  int num_dst = 0, num_src = 0;
  int dst[9] = {}, src[16] = {};  // 8 vector elements and a predicate
  s64 offset = 0;                 // of the memory operand
  int vec = 1;
  int target = -1;          // branch target (instruction index)
  int mask_reg = -1;        // member mask of a collective
  int a = 0, b = 0, c = 0;  // small per-instruction constants, explained at each handler
  int line = 0;
  char const* text = "";
  vector<int> list;  // branch targets of brx.idx, or the long register lists of wgmma
  Call* call = nullptr;
};

struct Var {
  Space space;
  u64 addr;
  u64 size;
  Type type;
};

struct Func {
  string name;
  bool entry = false;
  int start = -1;  // index of the first instruction
  vector<Var> params;
  vector<Var> rets;
  u64 param_bytes = 0;
  u8* param_buffer = nullptr;  // kernel parameters live here during a launch
  u64 shared_bytes = 0;
  u64 local_bytes = 0;
  int cluster_blocks = 1;             // from .reqnctapercluster
  int max_threads = 0;                // from .maxntid/.reqntid, 0 if absent
  int max_dynamic_shared = 48 << 10;  // raised by cudaFuncSetAttribute
  vector<pair<u64, u64>> red_zones;   // offset and size of the gaps between shared variables
};

struct Module {
  int target = 90;  // sm_XX of the PTX
  string text;
  vector<string> lines;
  vector<Ins> code;
  int num_regs = 0;
  vector<pair<int, u64>> constants;     // register and its value
  vector<pair<int, int>> special_regs;  // register and its SpecialReg
  map<string, Func*> funcs;
  map<string, Var> vars;
  vector<pair<u64, u64>> red_zones;
  vector<u8> local_gaps;    // per byte of local memory: belongs to no variable
  u64 dynamic_align = 128;  // of extern __shared__ arrays
  u64 shared_bytes = 0, local_bytes = 0, func_param_bytes = 0;
};

}  // namespace ptxemu
