#pragma once

#include <nanobind/nanobind.h>

namespace plumbob {

// Adds the lattice kernel to the module.
void add_lattice(nanobind::module_& module);

}  // namespace plumbob
