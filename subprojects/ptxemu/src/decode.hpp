// SPDX-License-Identifier: Apache-2.0
// Interface between the parser and the decoders. A decoder looks at one instruction class, fills in
// the Ins and chooses its handler; it returns false if the opcode is not its own and throws Error
// for a form it does not support.
#pragma once

#include "machine.hpp"
#include "parser.hpp"

namespace ptxemu {

// Rounding modes as stored in Ins::a of conversions.
enum Rounding { RN, RZ, RM, RP, RNA };

struct Decoder {
  Parser& parser;
  Ins& ins;
  vector<string> const& parts;  // the opcode split at dots
  vector<Operand>& ops;
  string const& op = parts[0];
  vector<Type> types{};  // type modifiers in order

  bool has(char const* modifier) const;
  void dst(size_t k);      // operand k is a destination (and "|q" a second one)
  void src(size_t k);      // operand k is a source
  void rest(size_t k);     // all operands from k on are sources
  void address(size_t k);  // operand k is a memory operand
  Space space() const;
  int rounding() const;  // -1 if not given
  void set(Handler h);
  void set_rounded(Handler h);  // with .ftz/.sat applied to an f32 result
  void collective(int mask_reg, Handler h);
};

void decode(Parser& parser, Ins& ins, vector<string> const& parts, vector<Operand>& ops);

bool decode_memory(Decoder& d);      // ld, st, atom, red, cvta, cp.async, ldmatrix, ...
bool decode_control(Decoder& d);     // bar, fence, exit, ret, trap and hints
bool decode_collective(Decoder& d);  // shfl, vote, match, redux, elect, activemask
bool decode_mma(Decoder& d);         // mma.sync, ldmatrix, stmatrix
bool decode_hopper(Decoder& d);      // mbarrier, cp.async.bulk, wgmma, fence.proxy
bool decode_bulk_copy(Decoder& d);   // part of decode_hopper
bool decode_wgmma(Decoder& d);       // part of decode_hopper
bool decode_convert(Decoder& d);     // mov, cvt, setp, set, selp, slct
bool decode_integer(Decoder& d);
bool decode_float(Decoder& d);

void no_operation(Warp&, Ins const&, u32);
void trap(Warp& w, Ins const&, u32 mask);

// Throws if there is a modifier that is not in the list; types are always accepted.
void require_modifiers(Decoder const& d, std::initializer_list<char const*> known);

// Lets the bulk loads that complete on this mbarrier arrive.
void land_bulk_loads(Block& b, u32 mbarrier);
// Counts transaction bytes of a completed copy.
void complete_transaction(Block& b, u32 mbarrier, u64 bytes, Clocks const& issuer);
// Reports asynchronous work that nobody waited for when a block ends, and completes the stores.
void finish_block_async(Block& b, vector<unique_ptr<Warp>>& warps);

}  // namespace ptxemu
