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
    word inverse;  // -1 / n modulo 2^32
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
    DEVICE unsigned inverse() const { return next_block()[kElement]; }
};
constexpr int kConstants = 2 * LIMBS + 5 * kElement + 1;
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
    root.inverse = uniform(ring.inverse());
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

// sum += number * digit.
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

// Adds limbs and what every lane has above them, `top`, across the lanes; returns what the last lane has above itself.
DEVICE word settle(Half& limbs, const word& top) {
    const word inner = ~last_mask();
    limbs.limb[0] = add_cc(limbs.limb[0], from_previous(top) & ~first_mask());
    UNROLLED for (int k = 1; k < W; ++k) limbs.limb[k] = addc_cc(limbs.limb[k], word(0));
    const word generated = addc(word(0), word(0));
    word all = limbs.limb[0];
    UNROLLED for (int k = 1; k < W; ++k) all = all & limbs.limb[k];
    const word reached = carries_in(generated & inner, is_equal(all, word(0xffffffffu)) & inner);
    limbs.limb[0] = add_cc(limbs.limb[0], reached);
    UNROLLED for (int k = 1; k < W; ++k) limbs.limb[k] = addc_cc(limbs.limb[k], word(0));
    return from_last(top + generated + addc(word(0), word(0)));
}

// The sum, moved down once more, in plain limbs.
DEVICE void finish_sum(Half& out, const word (&even)[W], const word (&odd)[W], const Sum& sum) {
    out.limb[0] = add_cc(even[0], odd[1]);
    UNROLLED for (int k = 1; k < W - 1; ++k) out.limb[k] = addc_cc(even[k], odd[k + 1]);
    out.limb[W - 1] = addc_cc(even[W - 1], sum.arriving);
    settle(out, addc(sum.above, word(0)));
}

enum class Mode { product, square, split };

// Where the rows of a product stand. The upper half is one row behind the lower one, whose quotient digit it needs: so
// both wait for their own quotient digits at the same time.
struct Rows {
    Sum lower, upper;
    word first, second;  // The digits of the row that the upper half comes to next,
    word quotient;       // and the lower half's quotient digit there.
};

// Before the quotient digit of the lower half.
template <Mode kMode>
DEVICE void begin_lower(word (&even)[W], word (&odd)[W], Sum& sum, const Number& right, const word& first) {
    shift_row(even, odd, sum.above, sum.arriving, right.half[0], kMode == Mode::split ? word(0) : first);
}

// After it: a multiple of n that makes the lowest limb zero.
template <Mode kMode>
DEVICE void end_lower(word (&even)[W], word (&odd)[W], Sum& sum, const Root& root, const word& quotient,
                      const word& first) {
    add_row(even, odd, sum.above, root.n, quotient);
    sum.arriving = from_next(even[0]);  // The last lane gets the zero of the first one.
    if (kMode == Mode::split) sum.arriving = sum.arriving + (first & last_mask());
}

// Likewise; returns the carry that `end_upper` adds.
template <Mode kMode>
DEVICE word begin_upper(word (&even)[W], word (&odd)[W], Sum& sum, const Number& right, const Rows& rows) {
    const word digit = kMode == Mode::split ? word(0) : kMode == Mode::square ? rows.second : rows.first;
    shift_row(even, odd, sum.above, sum.arriving, right.half[DEGREE - 1], digit);
    if (kMode == Mode::product) add_row(even, odd, sum.above, right.half[0], rows.second);
    even[0] = add_cc(even[0], ~rows.quotient & first_mask());
    return addc(word(0), word(0));
}

DEVICE void end_upper(word (&even)[W], word (&odd)[W], Sum& sum, const Root& root, const word& quotient,
                      const word& carry) {
    add_row_carried(even, odd, sum.above, root.n, quotient, carry);
    sum.arriving = from_next(even[0]);
}

// The next row of the lower half and the one before it of the upper half.
template <Mode kMode>
DEVICE void row(word (&even0)[W], word (&odd0)[W], word (&even1)[W], word (&odd1)[W], Rows& rows, const Number& right,
                const Root& root, const Digits& digits, int index) {
    const word first = digits.first(index), second = digits.second(index);
    begin_lower<kMode>(even0, odd0, rows.lower, right, first);
    word carry, upper_quotient;
    if (DEGREE == 2) {
        carry = begin_upper<kMode>(even1, odd1, rows.upper, right, rows);
        upper_quotient = from_first(even1[0] * root.inverse);
    }
    rows.quotient = from_first(even0[0] * root.inverse);
    end_lower<kMode>(even0, odd0, rows.lower, root, rows.quotient, first);
    if (DEGREE == 2) end_upper(even1, odd1, rows.upper, root, upper_quotient, carry);
    rows.first = first, rows.second = second;
}

// What `digits` hold for each mode: product: the limbs of both halves of the left factor; square: those of the lower
// half and of its double; split: the limbs of x above the lower LIMBS, which `right` has in its lower half.
// The result is left * right / R, and for split x / R.
template <Mode kMode>
DEVICE void multiply_rows(Number& out, const Number& right, const Digits& digits, const Root& root, Constants ring) {
    Rows rows;
    Sum &lower = rows.lower, &upper = rows.upper;
    Half initial;
    set_zero(initial);
    start(lower, kMode == Mode::split ? right.half[0] : initial);
    if (DEGREE == 2) {
        load_half(initial, ring.shift());
        start(upper, initial);
    }
    digits.wait();
    rows.first = digits.first(0), rows.second = digits.second(0);
    begin_lower<kMode>(lower.a, lower.b, lower, right, rows.first);
    rows.quotient = from_first(lower.a[0] * root.inverse);
    end_lower<kMode>(lower.a, lower.b, lower, root, rows.quotient, rows.first);
    LOOP for (int i = 1; i < LIMBS; i += 2) {
        row<kMode>(lower.b, lower.a, upper.a, upper.b, rows, right, root, digits, i);
        row<kMode>(lower.a, lower.b, upper.b, upper.a, rows, right, root, digits, i + 1);
    }
    digits.wait();
    if (DEGREE == 2) {  // Before the result, which may take the place of `right`.
        const word carry = begin_upper<kMode>(upper.a, upper.b, upper, right, rows);
        end_upper(upper.a, upper.b, upper, root, from_first(upper.a[0] * root.inverse), carry);
        finish_sum(out.half[DEGREE - 1], upper.b, upper.a, upper);
    }
    finish_sum(out.half[0], lower.b, lower.a, lower);
}

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
