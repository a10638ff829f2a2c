// Marks what the shared library offers to programs outside this project. Everything is built with hidden symbols, so a
// public function or class without the mark cannot be linked by an outside program; templates and enums need none.
#pragma once

#define VERNIER_API __attribute__((visibility("default")))
