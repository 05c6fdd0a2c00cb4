// SPDX-License-Identifier: Apache-2.0
// There is nothing to run: the headers held when they compiled and linked.
int main() {}
