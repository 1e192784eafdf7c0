// The Python module that every party loads: lattices and points.
#include <nanobind/nanobind.h>

#include "lattice_module.h"
#include "ristretto_module.h"

NB_MODULE(_kernel, module) {
    using namespace plumbob;
    add_lattice(module);
    add_ristretto(module);
}
