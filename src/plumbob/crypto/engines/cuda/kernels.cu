// What the driver launches: one group of lanes for each item. `rings` holds the constants of one or more rings, the
// items of one after those of the other. Elements are numbers in Montgomery form, kElement limbs each; integers are
// standard ones, `size` limbs each. Which products are made depends on shapes only.

DEVICE Constants ring_of(const unsigned* rings, unsigned item, unsigned rows) {
    return {rings + offset_t(item / rows) * kConstants};
}

DEVICE unsigned* element_at(unsigned* elements, offset_t index) { return elements + index * kElement; }
DEVICE const unsigned* element_at(const unsigned* elements, offset_t index) { return elements + index * kElement; }

DEVICE void keep(unsigned* elements, offset_t index, const Number& number, bool is_live) {
    if (is_live) store_number(element_at(elements, index), number);
}

// Integers to elements. Every ring takes in all the rows.
KERNEL enter_rows(const unsigned* rings, unsigned rows, unsigned* elements, const unsigned* integers, int size,
                  unsigned count) {
    DIGITS_OF_THIS_GROUP
    FOR_EACH_ITEM(count) {
        const Constants ring = ring_of(rings, item, rows);
        const Root root = load_root(ring);
        Number number;
        enter(number, integers + offset_t(item % rows) * size, size, digits, root, ring);
        keep(elements, item, number, is_live);
    }
}

// Elements to integers, the products of `parts` elements each, which lie `count` apart; `factor` is an exact one that
// is multiplied in as well, or null for 1.
KERNEL leave_rows(const unsigned* rings, unsigned* integers, int size, const unsigned* elements,
                  const unsigned* factor, unsigned parts, unsigned count) {
    DIGITS_OF_THIS_GROUP
    FOR_EACH_ITEM(count) {
        const Constants ring = {rings};
        const Root root = load_root(ring);
        Number number;
        load_number(number, element_at(elements, item));
        ROLLED for (unsigned part = 1; part < parts; ++part) {
            multiply_by(number, element_at(elements, offset_t(part) * count + item), digits, root, ring);
        }
        leave(number, factor == nullptr ? ring.exit() : factor, digits, root, ring);
        deliver(integers + offset_t(item) * size, size, number, ring, is_live);
    }
}

// Integers times integers; with `right_step` 0 every row meets the same right one.
KERNEL multiply_pairs(const unsigned* rings, unsigned* out, const unsigned* left, const unsigned* right,
                      unsigned right_step, int size, unsigned count) {
    DIGITS_OF_THIS_GROUP
    FOR_EACH_ITEM(count) {
        const Constants ring = {rings};
        const Root root = load_root(ring);
        Number number, other;
        split_block(other, right + offset_t(item) * right_step * size, 0, size, digits, root, ring);
        split_block(number, left + offset_t(item) * size, 0, size, digits, root, ring);
        put_number(digits, other);
        multiply_rows<Mode::product>(number, number, digits, root, ring);
        leave(number, ring.pair_exit(), digits, root, ring);
        deliver(out + offset_t(item) * size, size, number, ring, is_live);
    }
}

// Entry `index` of a table of `entries`: every one is read, whichever it is.
DEVICE void select(Number& number, const unsigned* table, int entries, unsigned index) {
    UNROLLED for (int h = 0; h < DEGREE; ++h) set_zero(number.half[h]);
    ROLLED for (int entry = 0; entry < entries; ++entry) {
        const word mask = word(0) - is_equal(uniform(entry), uniform(index));
        UNROLLED for (int h = 0; h < DEGREE; ++h) {
            UNROLLED for (int k = 0; k < W; ++k) {
                const word limb = load_limb(element_at(table, entry) + h * LIMBS, k);
                number.half[h].limb[k] = number.half[h].limb[k] | (limb & mask);
            }
        }
    }
}

// elements **= an exponent for each ring, in digits of `window` bits, the highest first. Only its length shows.
// `tables` has room for 2^window powers of every element.
KERNEL raise_rows(const unsigned* rings, unsigned rows, unsigned* elements, const unsigned char* exponents,
                  int digits_per_exponent, int window, unsigned* tables, unsigned count) {
    DIGITS_OF_THIS_GROUP
    FOR_EACH_ITEM(count) {
        const Constants ring = ring_of(rings, item, rows);
        const Root root = load_root(ring);
        // Groups without work have a table of their own as well, so that none is written twice.
        unsigned* table = tables + (offset_t(TABLE_OF_GROUP) << window) * kElement;
        Number number;
        load_number(number, ring.one());
        store_number(table, number);
        load_number(number, element_at(elements, item));
        store_number(element_at(table, 1), number);
        ROLLED for (int v = 2; v < 1 << window; ++v) {
            multiply_by(number, element_at(elements, item), digits, root, ring);
            store_number(element_at(table, v), number);
        }
        load_number(number, ring.one());
        const unsigned char* exponent = exponents + offset_t(item / rows) * digits_per_exponent;
        ROLLED for (int position = 0; position < digits_per_exponent; ++position) {
            ROLLED for (int i = 0; i < window; ++i) square(number, digits, root, ring);
            Number factor;
            select(factor, table, 1 << window, exponent[position]);
            put_number(digits, factor);
            multiply_rows<Mode::product>(number, number, digits, root, ring);
        }
        keep(elements, item, number, is_live);
    }
}

#if DEGREE == 2
// 1 + u n, where u is the upper half of the number.
DEVICE void deliver_message(unsigned* integer, int size, Number& number, Constants ring, bool is_live) {
    set_zero(number.half[0]);
    number.half[0].limb[0] = first_mask() & word(1);
    deliver(integer, size, number, ring, is_live);
}

// Integers u below n to the integers 1 + u n.
KERNEL embed_rows(const unsigned* rings, unsigned* out, int size, const unsigned* integers, int integer_size,
                  unsigned count) {
    FOR_EACH_ITEM(count) {
        Number number;
        UNROLLED for (int k = 0; k < W; ++k) {
            number.half[1].limb[k] = load_limb_below(integers + offset_t(item) * integer_size, 0, integer_size, k);
        }
        deliver_message(out + offset_t(item) * size, size, number, {rings}, is_live);
    }
}

// The same of signed integers, two limbs each, that are not larger than n: to negative ones n is added, without a
// branch.
KERNEL embed_signed_rows(const unsigned* rings, unsigned* out, int size, const unsigned* integers, unsigned count) {
    FOR_EACH_ITEM(count) {
        const unsigned* integer = integers + offset_t(item) * 2;
        const word sign = word(0) - (uniform(integer[1]) >> 31);
        Number number;
        Half added;
        UNROLLED for (int k = 0; k < W; ++k) {
            const word above = k < 2 ? ~first_mask() : ~word(0);  // Limbs beyond the two.
            number.half[1].limb[k] = load_limb_below(integer, 0, 2, k) | (sign & above);
            added.limb[k] = load_limb(rings, k) & sign;
        }
        add_half(number.half[1], added, word(0));
        deliver_message(out + offset_t(item) * size, size, number, {rings}, is_live);
    }
}

// Elements 1 + u n to the integers u * scale modulo n. The n-adic form has u as its upper half: nothing is divided.
// `scales` has an exact element for each ring, whose lower half is scale * R modulo n.
KERNEL leave_logarithms(const unsigned* rings, unsigned rows, unsigned* integers, int size, const unsigned* elements,
                        const unsigned* scales, unsigned count) {
    DIGITS_OF_THIS_GROUP
    FOR_EACH_ITEM(count) {
        const Constants ring = ring_of(rings, item, rows);
        const Root root = load_root(ring);
        Number number;
        load_number(number, element_at(elements, item));
        leave(number, ring.exit(), digits, root, ring);
        number.half[0] = number.half[1];
        set_zero(number.half[1]);
        leave(number, element_at(scales, item / rows), digits, root, ring);
        unsigned* integer = integers + offset_t(item) * size;
        UNROLLED for (int k = 0; k < W; ++k) {
            if (is_live) store_limb_below(integer, 0, size, k, number.half[0].limb[k]);
        }
    }
}
#endif

// Chinese remainders, in the ring of the joint modulus: left * weights[0] + right * weights[1]. The weights are exact
// and carry R^2.
KERNEL join_pairs(const unsigned* rings, unsigned* out, int size, const unsigned* left, int left_size,
                  const unsigned* right, int right_size, const unsigned* weights, unsigned count) {
    DIGITS_OF_THIS_GROUP
    FOR_EACH_ITEM(count) {
        const Constants ring = {rings};
        const Root root = load_root(ring);
        Number number, other;
        split_block(number, left + offset_t(item) * left_size, 0, left_size, digits, root, ring);
        leave(number, weights, digits, root, ring);
        split_block(other, right + offset_t(item) * right_size, 0, right_size, digits, root, ring);
        leave(other, element_at(weights, 1), digits, root, ring);
        add_number(number, other, root);
        deliver(out + offset_t(item) * size, size, number, ring, is_live);
    }
}

// The entries of the tables of subset products that need no product: one, and the elements themselves. The last table
// may have fewer rows than `size`: ones take their place.
KERNEL start_subsets(const unsigned* rings, unsigned* tables, const unsigned* elements, unsigned rows, int size,
                     unsigned count) {
    FOR_EACH_WORD(count) {
        const unsigned limb = item % kElement, slot = item / kElement % (size + 1), table = item / kElement / (size + 1);
        const unsigned row = table * size + slot - 1, entry = slot == 0 ? 0 : 1u << (slot - 1);
        const unsigned* from = slot == 0 || row >= rows ? Constants{rings}.one() : element_at(elements, row);
        element_at(tables, (offset_t(table) << size) + entry)[limb] = from[limb];
    }
}

// One level of the tables of subset products. An entry's index says which of `size` rows are in it. The products of
// aligned blocks of `half` rows are there; those of blocks of twice as many are made of two each.
KERNEL join_subsets(const unsigned* rings, unsigned* tables, int size, int half, unsigned count) {
    DIGITS_OF_THIS_GROUP
    FOR_EACH_ITEM(count) {
        const Constants ring = {rings};
        const Root root = load_root(ring);
        const unsigned blocks = (size + 2 * half - 1) / (2 * half), patterns = 1u << min(2 * half, size);
        const unsigned pattern = item % patterns, block = item / patterns % blocks;
        unsigned* table = element_at(tables, offset_t(item / patterns / blocks) << size);
        const unsigned low = (pattern & ((1u << half) - 1)) << block * 2 * half;
        const unsigned high = (pattern >> half << half) << block * 2 * half;
        const bool is_new = low != 0 && high != 0 && (low | high) >> size == 0;
        SKIP_IF_NONE(is_new)
        Number number;
        load_number(number, element_at(table, is_new ? low : 0));
        multiply_by(number, element_at(table, is_new ? high : 0), digits, root, ring);
        keep(table, low | high, number, is_live && is_new);
    }
}

// Which subset of a table's rows has its bit set, for every table, plane and column.
template <typename Entry>
DEVICE void find_all_subsets(unsigned short* indices, const Entry* matrix, unsigned rows, unsigned columns, int bits,
                             int size, unsigned count) {
    FOR_EACH_WORD(count) {
        const unsigned column = item % columns, plane = item / columns % bits, table = item / columns / bits;
        const unsigned long long offset = 1ull << (bits - 1);
        unsigned index = 0;
        for (int k = 0; k < size; ++k) {
            const unsigned row = table * size + k;
            if (row >= rows) break;
            const unsigned long long entry = matrix[offset_t(row) * columns + column];
            index |= unsigned((entry + offset) >> plane & 1) << k;
        }
        indices[item] = static_cast<unsigned short>(index);
    }
}

KERNEL find_subsets(unsigned short* indices, const long long* matrix, unsigned rows, unsigned columns, int bits,
                    int size, unsigned count) {
    find_all_subsets(indices, matrix, rows, columns, bits, size, count);
}

KERNEL find_subsets_of_32_bits(unsigned short* indices, const int* matrix, unsigned rows, unsigned columns, int bits,
                               int size, unsigned count) {
    find_all_subsets(indices, matrix, rows, columns, bits, size, count);
}

// out[part][item]: the product over a part of the tables of the entry that the item's index names in each.
KERNEL multiply_entries(const unsigned* rings, unsigned* out, const unsigned* tables, int size, unsigned n_tables,
                        const unsigned short* indices, unsigned item_step, unsigned table_step, unsigned items,
                        unsigned length, unsigned count) {
    DIGITS_OF_THIS_GROUP
    FOR_EACH_ITEM(count) {
        const Constants ring = {rings};
        const Root root = load_root(ring);
        const unsigned begin = item / items * length, end = min(begin + length, n_tables);
        const unsigned short* index = indices + offset_t(item % items) * item_step;
        Number number;
        load_number(number, element_at(tables, (offset_t(begin) << size) + index[offset_t(begin) * table_step]));
        // All parts have the same length here, so that the lanes of a warp stay together; a last one meets ones.
        ROLLED for (unsigned i = 1; i < length; ++i) {
            const unsigned table = begin + i;
            const unsigned* entry = ring.one();
            if (table < end) {
                entry = element_at(tables, (offset_t(table) << size) + index[offset_t(table) * table_step]);
            }
            multiply_by(number, entry, digits, root, ring);
        }
        keep(out, item, number, is_live);
    }
}

// Rows of `items` elements each: row k < distance is multiplied with rows k + distance, k + 2 distance, ... below
// `parts`. There are distance * items groups.
KERNEL fold_rows(const unsigned* rings, unsigned* elements, unsigned distance, unsigned parts, unsigned items,
                 unsigned count) {
    DIGITS_OF_THIS_GROUP
    FOR_EACH_ITEM(count) {
        const Constants ring = {rings};
        const Root root = load_root(ring);
        Number number;
        load_number(number, element_at(elements, item));
        // As many factors for every group, so that the lanes of a warp stay together; ones take the place of missing
        // rows.
        ROLLED for (unsigned first = distance; first < parts; first += distance) {
            const bool is_there = first + item / items < parts;
            const offset_t index = item + offset_t(first) * items;
            multiply_by(number, is_there ? element_at(elements, index) : ring.one(), digits, root, ring);
        }
        keep(elements, item, number, is_live);
    }
}

// Two neighbouring tables of powers, of 2^window entries each, become one of 2^(2 window): half as many products for
// those who look up.
KERNEL merge_tables(const unsigned* rings, unsigned* merged, const unsigned* tables, int window, unsigned count) {
    DIGITS_OF_THIS_GROUP
    FOR_EACH_ITEM(count) {
        const Constants ring = {rings};
        const Root root = load_root(ring);
        const offset_t low = item % (1u << window), high = item >> window & ((1u << window) - 1);
        const unsigned* pair = element_at(tables, offset_t(item >> 2 * window) << (window + 1));
        Number number;
        load_number(number, element_at(pair, low));
        multiply_by(number, element_at(pair, (1u << window) + high), digits, root, ring);
        keep(merged, item, number, is_live);
    }
}

// out[item]: square and multiply over `steps` factors, the last one first, `squarings` of them in between. Factor k of
// an item is element item * item_step + k * factor_step, or one where that is not below `available`.
KERNEL fold_powers(const unsigned* rings, unsigned* out, const unsigned* elements, unsigned item_step,
                   unsigned factor_step, unsigned available, unsigned steps, unsigned squarings, unsigned count) {
    DIGITS_OF_THIS_GROUP
    FOR_EACH_ITEM(count) {
        const Constants ring = {rings};
        const Root root = load_root(ring);
        Number number;
        ROLLED for (unsigned k = steps; k-- > 0;) {
            const offset_t index = offset_t(item) * item_step + offset_t(k) * factor_step;
            const unsigned* factor = index < available ? element_at(elements, index) : ring.one();
            if (k + 1 == steps) {
                load_number(number, factor);
            } else {
                ROLLED for (unsigned i = 0; i < squarings; ++i) square(number, digits, root, ring);
                multiply_by(number, factor, digits, root, ring);
            }
        }
        keep(out, item, number, is_live);
    }
}

// One level of the tables of powers: entries v in (low, 2 low] of every table from those of v / 2, rounded both ways,
// which are there. The entry after the last one is not kept.
KERNEL double_powers(const unsigned* rings, unsigned* tables, int window, unsigned low, unsigned count) {
    DIGITS_OF_THIS_GROUP
    FOR_EACH_ITEM(count) {
        const Constants ring = {rings};
        const Root root = load_root(ring);
        unsigned* table = element_at(tables, offset_t(item / low) << window);
        const unsigned v = low + 1 + item % low;
        Number number;
        load_number(number, element_at(table, v / 2));
        multiply_by(number, element_at(table, v - v / 2), digits, root, ring);
        keep(table, v, number, is_live && v >> window == 0);
    }
}

// For the benchmark: every element times itself as it was at first, again and again.
KERNEL repeat_products(const unsigned* rings, unsigned* out, const unsigned* elements, unsigned repetitions,
                       unsigned count) {
    DIGITS_OF_THIS_GROUP
    FOR_EACH_ITEM(count) {
        const Constants ring = {rings};
        const Root root = load_root(ring);
        Number number;
        load_number(number, element_at(elements, item));
        ROLLED for (unsigned i = 0; i < repetitions; ++i) {
            multiply_by(number, element_at(elements, item), digits, root, ring);
        }
        keep(out, item, number, is_live);
    }
}
