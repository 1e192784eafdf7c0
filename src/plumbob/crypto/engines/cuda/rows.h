// A product row by row, a row being one digit of 32 bits: for lanes that hold four limbs or more.
#if LANE_LIMBS > 2

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

#endif
