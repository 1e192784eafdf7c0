#pragma once

#include <nanobind/nanobind.h>

namespace plumbob {

// Adds the group ristretto255 to the module.
void add_ristretto(nanobind::module_& module);

}  // namespace plumbob
