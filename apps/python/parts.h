// The module in parts: what each file adds to it.
#pragma once

#include <nanobind/nanobind.h>

namespace vernier::python {

void add_models(nanobind::module_& module);
void add_options(nanobind::module_& module);
void add_experiments(nanobind::module_& module);
void add_jobs(nanobind::module_& module);
void add_reports(nanobind::module_& module);
void add_numbers(nanobind::module_& module);
void add_search(nanobind::module_& module);
void add_runs(nanobind::module_& module);

}  // namespace vernier::python
