// A product row by row, a row being one digit of 64 bits: for lanes that hold two limbs. There the time goes by waiting for
// what other lanes send, twice a row, so that half as many rows take little more than half the time.
//
// A lane's sum is five columns of 32 bits. Products that start at an odd column meet apart, as in rows.h. R has one digit
// of 32 bits more than limbs, so the last row is half a row.
#if LANE_LIMBS == 2

struct WideSum {
    word column[5];
    word odd[3];        // Columns 1 to 3.
    word arriving[2];   // What the lane above sends to columns 0 and 1.
};

struct Pair {
    word low, high;
};

struct WideRows {
    WideSum lower, upper;
    Pair first, second;  // The digits of the row that the upper half comes to next,
    Pair quotient;       // and the lower half's quotient digit there.
};

DEVICE void start(WideSum& sum, const Half& value) {
    sum.column[0] = value.limb[0], sum.column[1] = value.limb[1];
    sum.column[2] = sum.column[3] = sum.column[4] = word(0);
    sum.odd[0] = sum.odd[1] = sum.odd[2] = word(0);
    sum.arriving[0] = sum.arriving[1] = word(0);
}

// sum += number * digit.
DEVICE void add_row(WideSum& sum, const Half& number, const Pair& digit) {
    sum.odd[0] = mad_lo_cc(number.limb[1], digit.low, sum.odd[0]);
    sum.odd[1] = madc_hi_cc(number.limb[1], digit.low, sum.odd[1]);
    sum.odd[2] = addc(sum.odd[2], word(0));
    sum.odd[0] = mad_lo_cc(number.limb[0], digit.high, sum.odd[0]);
    sum.odd[1] = madc_hi_cc(number.limb[0], digit.high, sum.odd[1]);
    sum.odd[2] = addc(sum.odd[2], word(0));
    sum.column[0] = mad_lo_cc(number.limb[0], digit.low, sum.column[0]);
    sum.column[1] = madc_hi_cc(number.limb[0], digit.low, sum.column[1]);
    sum.column[2] = madc_lo_cc(number.limb[1], digit.high, sum.column[2]);
    sum.column[3] = madc_hi_cc(number.limb[1], digit.high, sum.column[3]);
    sum.column[4] = addc(sum.column[4], word(0));
}

DEVICE void add_low(WideSum& sum, const word& low, const word& high) {
    sum.column[0] = add_cc(sum.column[0], low);
    sum.column[1] = addc_cc(sum.column[1], high);
    sum.column[2] = addc_cc(sum.column[2], word(0));
    sum.column[3] = addc_cc(sum.column[3], word(0));
    sum.column[4] = addc(sum.column[4], word(0));
}

// Its lowest digit times -1/n, in the first lane, for all lanes.
DEVICE Pair quotient_of(const WideSum& sum, const Root& root) {
    const word low = sum.column[0] * root.inverse;
    const word high = high_product(sum.column[0], root.inverse) + sum.column[0] * root.inverse_high +
                      (sum.column[1] + sum.odd[0]) * root.inverse;
    return {from_first(low), from_first(high)};
}

// Columns 1 and up with what meets at odd columns.
DEVICE void collect(WideSum& sum) {
    sum.column[1] = add_cc(sum.column[1], sum.odd[0]);
    sum.column[2] = addc_cc(sum.column[2], sum.odd[1]);
    sum.column[3] = addc_cc(sum.column[3], sum.odd[2]);
    sum.column[4] = addc(sum.column[4], word(0));
}

// sum = sum / 2^64: the two lowest columns arrive in the lane below. The first lane's are zero.
DEVICE void shift(WideSum& sum) {
    collect(sum);
    sum.arriving[0] = from_next(sum.column[0]);
    sum.arriving[1] = from_next(sum.column[1]);
    sum.column[0] = sum.column[2], sum.column[1] = sum.column[3], sum.column[2] = sum.column[4];
    sum.column[3] = sum.column[4] = word(0);
    sum.odd[0] = sum.odd[1] = sum.odd[2] = word(0);
}

// The sum / 2^32 in plain limbs.
DEVICE void finish_sum(Half& out, WideSum& sum) {
    collect(sum);
    out.limb[0] = sum.column[1];
    out.limb[1] = add_cc(sum.column[2], from_next(sum.column[0]));
    const word top = addc_cc(sum.column[3], word(0)), above = addc(sum.column[4], word(0));
    out.limb[0] = add_cc(out.limb[0], from_previous(top) & ~first_mask());
    out.limb[1] = addc_cc(out.limb[1], from_previous(above) & ~first_mask());
    ripple(out, addc(word(0), word(0)));
}

template <Mode kMode>
DEVICE void begin_lower(WideSum& sum, const Number& right, const Pair& first) {
    if (kMode != Mode::split) add_row(sum, right.half[0], first);
    add_low(sum, sum.arriving[0], sum.arriving[1]);
}

template <Mode kMode>
DEVICE void begin_upper(WideSum& sum, const Number& right, const WideRows& rows, const Pair& complement) {
    if (kMode != Mode::split) {
        add_row(sum, right.half[DEGREE - 1], kMode == Mode::square ? rows.second : rows.first);
    }
    if (kMode == Mode::product) add_row(sum, right.half[0], rows.second);
    add_low(sum, complement.low & first_mask(), complement.high & first_mask());
    add_low(sum, sum.arriving[0], sum.arriving[1]);
}

template <Mode kMode>
DEVICE void end_lower(WideRows& rows, const Root& root, const Pair& first) {
    add_row(rows.lower, root.n, rows.quotient);
    shift(rows.lower);
    if (kMode == Mode::split) {
        rows.lower.arriving[0] = rows.lower.arriving[0] + (first.low & last_mask());
        rows.lower.arriving[1] = rows.lower.arriving[1] + (first.high & last_mask());
    }
}

// The next row of the lower half and the one before it of the upper half: they wait for other lanes at the same time.
template <Mode kMode>
DEVICE void wide_row(WideRows& rows, const Number& right, const Root& root, const Pair& first, const Pair& second) {
    begin_lower<kMode>(rows.lower, right, first);
    if (DEGREE == 2) begin_upper<kMode>(rows.upper, right, rows, {~rows.quotient.low, ~rows.quotient.high});
    const Pair quotient = quotient_of(rows.lower, root);
    if (DEGREE == 2) {
        const Pair upper_quotient = quotient_of(rows.upper, root);
        add_row(rows.upper, root.n, upper_quotient);
    }
    rows.quotient = quotient;
    end_lower<kMode>(rows, root, first);
    if (DEGREE == 2) shift(rows.upper);
    rows.first = first, rows.second = second;
}

template <Mode kMode>
DEVICE void multiply_rows(Number& out, const Number& right, const Digits& digits, const Root& root, Constants ring) {
    WideRows rows;
    Half initial;
    set_zero(initial);
    start(rows.lower, kMode == Mode::split ? right.half[0] : initial);
    if (DEGREE == 2) {
        load_half(initial, ring.shift());
        start(rows.upper, initial);
    }
    digits.wait();
    rows.first = {digits.first(0), digits.first(1)}, rows.second = {digits.second(0), digits.second(1)};
    begin_lower<kMode>(rows.lower, right, rows.first);
    rows.quotient = quotient_of(rows.lower, root);
    end_lower<kMode>(rows, root, rows.first);
    LOOP for (int i = 2; i < LIMBS; i += 2) {
        wide_row<kMode>(rows, right, root, {digits.first(i), digits.first(i + 1)},
                        {digits.second(i), digits.second(i + 1)});
    }
    // The upper half's last whole row, then half a row for both: digits without a high word, and no high quotient.
    const Pair first = {digits.first(LIMBS), word(0)}, second = {digits.second(LIMBS), word(0)};
    digits.wait();
    if (DEGREE == 2) {
        begin_upper<kMode>(rows.upper, right, rows, {~rows.quotient.low, ~rows.quotient.high});
        add_row(rows.upper, root.n, quotient_of(rows.upper, root));
        shift(rows.upper);
    }
    begin_lower<kMode>(rows.lower, right, first);
    const Pair last = {from_first(rows.lower.column[0] * root.inverse), word(0)};
    add_row(rows.lower, root.n, last);
    if (DEGREE == 2) {
        rows.first = first, rows.second = second;
        begin_upper<kMode>(rows.upper, right, rows, {~last.low, word(0)});
        const Pair upper_last = {from_first(rows.upper.column[0] * root.inverse), word(0)};
        add_row(rows.upper, root.n, upper_last);
        finish_sum(out.half[DEGREE - 1], rows.upper);
    }
    finish_sum(out.half[0], rows.lower);
}

#endif
