// SPDX-License-Identifier: Apache-2.0
// Device functions that the CUDA runtime provides: vprintf and __assertfail.
#include "checks.hpp"
#include "exec.hpp"
#include "memory.hpp"

#include <cstdio>

namespace ptxemu {
namespace {

// `args` is the packed argument buffer of vprintf; every argument is aligned to its size.
void device_printf(char const* format, u8 const* args) {
  u64 offset = 0;
  auto fetch = [&](auto& value) {
    offset = round_up(offset, sizeof value);
    memcpy(&value, args + offset, sizeof value);
    offset += sizeof value;
  };
  while (*format) {
    if (*format != '%') {
      putchar(*format++);
      continue;
    }
    if (format[1] == '%') {
      putchar('%');
      format += 2;
      continue;
    }
    string spec;
    bool wide = false;
    do {
      wide |= *format == 'l';
      spec += *format++;
    } while (*format && !strchr("diouxXcsfeEgGp", spec.back()));
    char const kind = spec.back();
    if (strchr("feEgG", kind)) {
      double v;
      fetch(v);
      printf(spec.c_str(), v);
    } else if (kind == 's') {
      char const* v;
      fetch(v);
      printf(spec.c_str(), reinterpret_cast<char const*>(host_view(v)));
    } else if (wide || kind == 'p') {
      u64 v;
      fetch(v);
      printf(spec.c_str(), v);
    } else {
      u32 v;
      fetch(v);
      printf(spec.c_str(), v);
    }
  }
}

}  // namespace

void call_builtin(Warp& w, Ins const& i, u32 lanes) {
  Call const& c = *i.call;
  for_lanes(lanes, [&](int l) {
    u8* params = w.func_params[l].data();
    auto argument = [&](size_t k) {
      u64 v = 0;
      memcpy(&v, params + c.args.at(k).first, min(c.args[k].second, 8));
      return v;
    };
    if (c.name == "vprintf") {
      device_printf(reinterpret_cast<char const*>(argument(0)),
                    reinterpret_cast<u8 const*>(argument(1)));
      if (c.ret >= 0) memset(params + c.ret, 0, 4);
    } else if (c.name == "__assertfail") {
      throw Error(string("device assert: ") + reinterpret_cast<char const*>(argument(0)) + " " +
                      reinterpret_cast<char const*>(argument(1)) + ":" +
                      to_string(u32(argument(2))) + " " + where(w, l),
                  kAssert);
    } else {
      throw Error("call of unknown function " + c.name + ": " + where(w, l));
    }
  });
}

}  // namespace ptxemu
