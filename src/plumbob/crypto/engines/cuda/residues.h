// Residues: products and squares, into Montgomery form and out of it, sums.

DEVICE void put_number(const Digits& digits, const Number& left) {
    UNROLLED for (int k = 0; k < W; ++k) digits.put(k, left.half[0].limb[k], left.half[DEGREE - 1].limb[k]);
    digits.put_top(word(0), word(0));
}

// number = number * element / R, where the element lies in memory.
DEVICE void multiply_by(Number& number, const unsigned* element, const Digits& digits, const Root& root,
                        Constants ring) {
    UNROLLED for (int k = 0; k < W; ++k) {
        digits.put(k, load_limb(element, k), load_limb(element + (DEGREE - 1) * LIMBS, k));
    }
    digits.put_top(word(0), word(0));
    multiply_rows<Mode::product>(number, number, digits, root, ring);
}

DEVICE void square(Number& number, const Digits& digits, const Root& root, Constants ring) {
    const Half& half = number.half[0];
    word below = from_previous(half.limb[W - 1]) & ~first_mask();
    UNROLLED for (int k = 0; k < W; ++k) {
        digits.put(k, half.limb[k], half.limb[k] << 1 | below >> 31);
        below = half.limb[k];
    }
    digits.put_top(word(0), below >> 31);
    multiply_rows<Mode::square>(number, number, digits, root, ring);
}

// One block of a standard integer, the limbs [first, first + kElement) of `size`, as x / R.
DEVICE void split_block(Number& out, const unsigned* integer, int first, int size, const Digits& digits,
                        const Root& root, Constants ring) {
    UNROLLED for (int k = 0; k < W; ++k) {
        const word high = DEGREE == 2 ? load_limb_below(integer, first + LIMBS, size, k) : word(0);
        digits.put(k, high, word(0));
        out.half[0].limb[k] = load_limb_below(integer, first, size, k);
    }
    if (DEGREE == 2) set_zero(out.half[DEGREE - 1]);
    digits.put_top(word(0), word(0));
    multiply_rows<Mode::split>(out, out, digits, root, ring);
}

// half -= n if it, with `carry` above it, is not less; says whether it was. No branch.
DEVICE word subtract_root(Half& half, const word& carry, const Root& root) {
    const word inner = ~last_mask();
    Half less;
    less.limb[0] = sub_cc(half.limb[0], root.n.limb[0]);
    UNROLLED for (int k = 1; k < W; ++k) less.limb[k] = subc_cc(half.limb[k], root.n.limb[k]);
    const word generated = word(0) - subc(word(0), word(0));
    word any = less.limb[0];
    UNROLLED for (int k = 1; k < W; ++k) any = any | less.limb[k];
    const word reached = carries_in(generated & inner, is_equal(any, word(0)) & inner);
    less.limb[0] = sub_cc(less.limb[0], reached);
    UNROLLED for (int k = 1; k < W; ++k) less.limb[k] = subc_cc(less.limb[k], word(0));
    const word borrowed = from_last(generated | (word(0) - subc(word(0), word(0))));
    const word is_not_less = carry | (borrowed ^ word(1));
    const word mask = word(0) - is_not_less;
    UNROLLED for (int k = 0; k < W; ++k) {
        half.limb[k] = (half.limb[k] & ~mask) | (less.limb[k] & mask);
    }
    return is_not_less;
}

// half += other + carry; returns what is carried out.
DEVICE word add_half(Half& half, const Half& other, const word& carry) {
    half.limb[0] = add_cc(half.limb[0], other.limb[0]);
    UNROLLED for (int k = 1; k < W; ++k) half.limb[k] = addc_cc(half.limb[k], other.limb[k]);
    const word top = addc(word(0), word(0));
    const word over = settle(half, top);
    half.limb[0] = add_cc(half.limb[0], carry & first_mask());
    UNROLLED for (int k = 1; k < W; ++k) half.limb[k] = addc_cc(half.limb[k], word(0));
    return over + settle(half, addc(word(0), word(0)));
}

// number += other. Both come from products, so each half is below n + B / 2^31 + 2: one subtraction makes room.
DEVICE void add_number(Number& number, const Number& other, const Root& root) {
    word carry = add_half(number.half[0], other.half[0], word(0));
    // A half that is below n may lose n as well, because it is then added to the upper half.
    carry = subtract_root(number.half[0], carry, root);
    if (DEGREE == 2) {
        carry = add_half(number.half[DEGREE - 1], other.half[DEGREE - 1], carry);
        subtract_root(number.half[DEGREE - 1], carry, root);
    }
}

// Exactly reduced halves of a product with an exact constant, whose halves exceed n by n / 2^30 at most.
DEVICE void reduce(Number& number, const Root& root) {
    const word carry = subtract_root(number.half[0], word(0), root);
    if (DEGREE == 2) {
        Half none;
        set_zero(none);
        const word over = add_half(number.half[DEGREE - 1], none, carry);
        subtract_root(number.half[DEGREE - 1], over, root);
    }
}

// A standard integer of any width to Montgomery form, block after block from the top.
DEVICE void enter(Number& out, const unsigned* integer, int size, const Digits& digits, const Root& root,
                  Constants ring) {
    const int blocks = (size + kElement - 1) / kElement;
    split_block(out, integer, (blocks - 1) * kElement, size, digits, root, ring);
    ROLLED for (int block = blocks - 2; block >= 0; --block) {
        Number next;
        multiply_by(out, ring.next_block(), digits, root, ring);
        split_block(next, integer, block * kElement, size, digits, root, ring);
        add_number(out, next, root);
    }
    multiply_by(out, ring.entry(), digits, root, ring);
}

// The standard integer c0 + c1 n of exactly reduced halves, `size` limbs of it.
DEVICE void deliver(unsigned* integer, int size, const Number& number, Constants ring, bool is_live) {
    if (DEGREE == 1) {
        UNROLLED for (int k = 0; k < W; ++k) {
            if (is_live) store_limb_below(integer, 0, size, k, number.half[0].limb[k]);
        }
        return;
    }
    Sum sum;
    start(sum, number.half[0]);
    ROLLED for (int i = 0; i < LIMBS; i += 2) {
        shift_row(sum.a, sum.b, sum.above, sum.arriving, number.half[DEGREE - 1], uniform(ring.root()[i]));
        if (is_live && i < size) store_uniform(integer + i, sum.a[0]);
        sum.arriving = from_next(sum.a[0]) & ~last_mask();
        shift_row(sum.b, sum.a, sum.above, sum.arriving, number.half[DEGREE - 1], uniform(ring.root()[i + 1]));
        if (is_live && i + 1 < size) store_uniform(integer + i + 1, sum.b[0]);
        sum.arriving = from_next(sum.b[0]) & ~last_mask();
    }
    Half high;
    finish_sum(high, sum.a, sum.b, sum);
    UNROLLED for (int k = 0; k < W; ++k) {
        if (is_live) store_limb_below(integer, LIMBS, size, k, high.limb[k]);
    }
}

// number * constant / R, exactly reduced; the constant is exact, and makes the number a plain one.
DEVICE void leave(Number& number, const unsigned* constant, const Digits& digits, const Root& root, Constants ring) {
    multiply_by(number, constant, digits, root, ring);
    reduce(number, root);
}
