// What the kernel takes from GCC and clang does not have, for native/tests/fuzz.cpp: elements of two vectors, by a third.
#pragma once

template <class Vector>
static inline Vector __builtin_shuffle(Vector left, Vector right, Vector places) {
    constexpr unsigned kLanes = sizeof(Vector) / sizeof(left[0]);
    Vector result{};
#pragma clang loop unroll(full)
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        result[lane] = places[lane] < kLanes ? left[places[lane]] : right[places[lane] - kLanes];
    }
    return result;
}
