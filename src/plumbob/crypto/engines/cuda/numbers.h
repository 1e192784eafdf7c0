// Residues modulo n (DEGREE 1) or n^2 (DEGREE 2) in Montgomery form, LIMBS limbs of 32 bits for every half, each half
// spread over the lanes of a group.
//
// Modulo n^2 a residue is kept as c0 + c1 n, so that a product takes three half-size products and two half-size
// reductions instead of one of each in full size:
//
//   c0 d0 + m n = R t            (m: the quotient digits of a Montgomery reduction), hence   c0 d0 = R t - m n   and
//   C D / R = t + u n  with  u = (c0 d1 + c1 d0 - m) / R  modulo n, a second Montgomery reduction.
//
// -m = complement(m) + 1 - R, digit by digit, and 1 - R is replaced by the non-negative `shift`, equal to it modulo n:
//   u = reduce(c0 d1 + c1 d0 + complement(m) + shift).
//
// A half is any number below B = 2^(32 LIMBS), and R = 2^32 B: one more row of reduction than limbs. Then
//   t < (B^2 + R n) / R = B / 2^32 + n      and      u < (2 B^2 + R + n + R n) / R < B / 2^31 + 2 + n,
// so halves stay below B without any subtraction as long as n <= B - B / 2^28, which the driver sees to.
//
// A sum in progress is even + odd 2^32 + above 2^(32 (LANE_LIMBS + 1)) in every lane: products of a digit with limbs of
// even index meet in `even`, the others in `odd`, so that each is one multiply-add of 64 bits in a chain of carries. A
// lane keeps what overflows its limbs until the sum is finished; with each row the sum moves down by one limb, and a
// lane's lowest limb arrives in the lane below.

constexpr int W = LANE_LIMBS;

struct Half {
    word limb[W];
};

struct Number {
    Half half[DEGREE];
};

struct Root {
    Half n;
    word inverse, inverse_high;  // -1 / n modulo 2^64
};

struct Sum {
    word a[W], b[W];  // In turns even and odd.
    word above, arriving;
};

// Where a ring's constants lie; the driver writes them in this order.
constexpr int kElement = DEGREE * LIMBS;
struct Constants {
    const unsigned* base;
    DEVICE const unsigned* root() const { return base; }
    DEVICE const unsigned* shift() const { return base + LIMBS; }               // n - (R mod n) + 1
    DEVICE const unsigned* one() const { return base + 2 * LIMBS; }              // R: one, in Montgomery form
    DEVICE const unsigned* entry() const { return one() + kElement; }            // R^3: makes x / R to x R
    DEVICE const unsigned* pair_exit() const { return entry() + kElement; }      // R^4: makes x y / R^3 to x y
    DEVICE const unsigned* exit() const { return pair_exit() + kElement; }       // 1: makes x R to x
    DEVICE const unsigned* next_block() const { return exit() + kElement; }      // R B^DEGREE: shifts x by one block
    DEVICE const unsigned* inverse() const { return next_block() + kElement; }
};
constexpr int kConstants = 2 * LIMBS + 5 * kElement + 2;
static_assert(W % 2 == 0, "a lane holds whole pairs of limbs");

DEVICE void load_half(Half& half, const unsigned* from) {
    UNROLLED for (int k = 0; k < W; ++k) half.limb[k] = load_limb(from, k);
}

DEVICE void store_half(unsigned* to, const Half& half) {
    UNROLLED for (int k = 0; k < W; ++k) store_limb(to, k, half.limb[k]);
}

DEVICE void load_number(Number& number, const unsigned* from) {
    UNROLLED for (int h = 0; h < DEGREE; ++h) load_half(number.half[h], from + h * LIMBS);
}

DEVICE void store_number(unsigned* to, const Number& number) {
    UNROLLED for (int h = 0; h < DEGREE; ++h) store_half(to + h * LIMBS, number.half[h]);
}

DEVICE void set_zero(Half& half) {
    UNROLLED for (int k = 0; k < W; ++k) half.limb[k] = word(0);
}

DEVICE Root load_root(Constants ring) {
    Root root;
    load_half(root.n, ring.root());
    root.inverse = uniform(ring.inverse()[0]), root.inverse_high = uniform(ring.inverse()[1]);
    return root;
}

DEVICE void start(Sum& sum, const Half& value) {
    UNROLLED for (int k = 0; k < W; ++k) sum.a[k] = value.limb[k], sum.b[k] = word(0);
    sum.above = sum.arriving = word(0);
}

// The chain of even limbs; what it carries out belongs where the odd chain ends.
DEVICE void add_even(word (&even)[W], word (&odd)[W], word& above, const Half& number, const word& digit) {
    even[0] = mad_lo_cc(number.limb[0], digit, even[0]);
    even[1] = madc_hi_cc(number.limb[0], digit, even[1]);
    UNROLLED for (int j = 2; j < W; j += 2) {
        even[j] = madc_lo_cc(number.limb[j], digit, even[j]);
        even[j + 1] = madc_hi_cc(number.limb[j], digit, even[j + 1]);
    }
    odd[W - 1] = addc_cc(odd[W - 1], word(0));
    above = addc(above, word(0));
}

// sum += number * digit + carry * 2^32.
DEVICE void add_row(word (&even)[W], word (&odd)[W], word& above, const Half& number, const word& digit) {
    odd[0] = mad_lo_cc(number.limb[1], digit, odd[0]);
    odd[1] = madc_hi_cc(number.limb[1], digit, odd[1]);
    UNROLLED for (int j = 2; j < W; j += 2) {
        odd[j] = madc_lo_cc(number.limb[j + 1], digit, odd[j]);
        odd[j + 1] = madc_hi_cc(number.limb[j + 1], digit, odd[j + 1]);
    }
    above = addc(above, word(0));
    add_even(even, odd, above, number, digit);
}

// The same, with a carry into limb 1.
DEVICE void add_row_carried(word (&even)[W], word (&odd)[W], word& above, const Half& number, const word& digit,
                            const word& carry) {
    add_cc(carry, word(0xffffffffu));
    UNROLLED for (int j = 0; j < W; j += 2) {
        odd[j] = madc_lo_cc(number.limb[j + 1], digit, odd[j]);
        odd[j + 1] = madc_hi_cc(number.limb[j + 1], digit, odd[j + 1]);
    }
    above = addc(above, word(0));
    add_even(even, odd, above, number, digit);
}

// sum = sum / 2^32 + number * digit: what was odd is even now, and what was even moves down by two limbs, for free.
DEVICE void shift_row(word (&even)[W], word (&odd)[W], word& above, const word& arriving, const Half& number,
                      const word& digit) {
    even[0] = add_cc(even[0], odd[1]);
    UNROLLED for (int j = 0; j < W - 2; j += 2) {
        odd[j] = madc_lo_cc(number.limb[j + 1], digit, odd[j + 2]);
        odd[j + 1] = madc_hi_cc(number.limb[j + 1], digit, odd[j + 3]);
    }
    odd[W - 2] = madc_lo_cc(number.limb[W - 1], digit, arriving);
    odd[W - 1] = madc_hi_cc(number.limb[W - 1], digit, above);
    above = addc(word(0), word(0));
    add_even(even, odd, above, number, digit);
}

// Passes carries on across the lanes: each has `generated` one above its limbs, or passes one on if all its bits are
// set. Returns what the last lane has above itself.
DEVICE word ripple(Half& limbs, const word& generated) {
    const word inner = ~last_mask();
    word all = limbs.limb[0];
    UNROLLED for (int k = 1; k < W; ++k) all = all & limbs.limb[k];
    const word reached = carries_in(generated & inner, is_equal(all, word(0xffffffffu)) & inner);
    limbs.limb[0] = add_cc(limbs.limb[0], reached);
    UNROLLED for (int k = 1; k < W; ++k) limbs.limb[k] = addc_cc(limbs.limb[k], word(0));
    return from_last(generated + addc(word(0), word(0)));
}

// Adds limbs and what every lane has above them, `top`, across the lanes; returns what the last lane has above itself.
DEVICE word settle(Half& limbs, const word& top) {
    limbs.limb[0] = add_cc(limbs.limb[0], from_previous(top) & ~first_mask());
    UNROLLED for (int k = 1; k < W; ++k) limbs.limb[k] = addc_cc(limbs.limb[k], word(0));
    const word generated = addc(word(0), word(0));
    return from_last(top) + ripple(limbs, generated);
}

// The sum, moved down once more, in plain limbs.
DEVICE void finish_sum(Half& out, const word (&even)[W], const word (&odd)[W], const Sum& sum) {
    out.limb[0] = add_cc(even[0], odd[1]);
    UNROLLED for (int k = 1; k < W - 1; ++k) out.limb[k] = addc_cc(even[k], odd[k + 1]);
    out.limb[W - 1] = addc_cc(even[W - 1], sum.arriving);
    settle(out, addc(sum.above, word(0)));
}

enum class Mode { product, square, split };
