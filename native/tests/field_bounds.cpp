// Which bounds the digits of the three fields keep: their own code, and the group's, run on intervals instead of words.
//
//   field_bounds            prints, for each field, the largest of what it meets; ends with 1 if something overflows
//   field_bounds narrower   the same with machines of one bit less, which the fields do not fit: this must fail
//
// An interval is all that a word can be. A sum that may not fit its word, a difference that may be negative, or a factor
// that is wider than its instruction reads, ends the program. The group's functions are called with any digits that a
// carried element can have, beginning with those of reduced numbers, until what they return adds nothing: then these
// bounds hold after any number of operations, in any order. tools/field_bounds.py compiles and runs this.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../field25519_avx2.h"
#include "../field25519_avx512ifma.h"
#include "../field25519_portable.h"

namespace plumbob {
namespace {

using Big = unsigned __int128;

unsigned missing_bits = 0;  // of the machines, for the run that must fail
const char* running = "";   // which function of the group

struct Largest {
    Big factor, column, wide;
} largest;

[[noreturn]] void fail(const char* what) {
    std::printf("%s: %s\n", running, what);
    std::exit(1);
}

void note(Big& record, Big value) {
    if (value > record) record = value;
}

Big all_ones(unsigned bits) { return bits == 128 ? ~Big{0} : (Big{1} << bits) - 1; }

template <unsigned kBits>
struct Interval {
    Big low = 0, high = 0;
    bool is_cut = false;  // Bits were shifted out, or left out: only a mask may follow.

    Interval() = default;
    explicit Interval(Big value) : low(value), high(value) {}
    Interval(Big from, Big to) : low(from), high(to) {}
    // A wide word from a narrow one.
    template <unsigned kFewer>
    explicit Interval(const Interval<kFewer>& other) : low(other.low), high(other.high) {
        static_assert(kFewer < kBits);
        other.require_whole();
    }

    static Interval any() { return {0, all_ones(kBits)}; }
    static Interval cut() {
        Interval result = any();
        result.is_cut = true;
        return result;
    }

    void require_whole() const {
        if (is_cut) fail("calculates with a word that has lost its upper bits");
    }

    Interval recorded() const {
        note(kBits == 64 ? largest.column : largest.wide, high);
        return *this;
    }

    friend Interval operator+(const Interval& a, const Interval& b) {
        a.require_whole();
        b.require_whole();
        if (a.high > all_ones(kBits - missing_bits) - b.high) fail("a sum does not fit its word");
        return Interval{a.low + b.low, a.high + b.high}.recorded();
    }

    friend Interval operator-(const Interval& a, const Interval& b) {
        a.require_whole();
        b.require_whole();
        if (a.low < b.high) fail("a difference may be negative");
        return {a.low - b.high, a.high - b.low};
    }

    friend Interval operator>>(const Interval& a, unsigned shift) {
        a.require_whole();
        return {a.low >> shift, a.high >> shift};
    }

    friend Interval operator<<(const Interval& a, unsigned shift) {
        a.require_whole();
        return a.high > all_ones(kBits) >> shift ? cut() : Interval{a.low << shift, a.high << shift};
    }

    friend Interval operator&(const Interval& a, const Interval& b) {
        Interval result{0, a.high < b.high ? a.high : b.high};
        result.is_cut = a.is_cut && b.is_cut;
        return result;
    }

    friend Interval operator|(const Interval& a, const Interval& b) {
        Big ones = a.high | b.high;
        for (unsigned shift = 1; shift < 128; shift *= 2) ones |= ones >> shift;
        Interval result{0, ones};
        result.is_cut = a.is_cut || b.is_cut;
        return result;
    }

    friend Interval operator~(const Interval&) { return any(); }

    friend Interval hull(const Interval& a, const Interval& b) {
        return {a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
    }

    friend bool operator==(const Interval& a, const Interval& b) { return a.low == b.low && a.high == b.high; }
};

// What all machines have.
struct IntervalLanes {
    using Word = Interval<64>;
    static constexpr unsigned lanes = 1;

    static Word spread(std::uint64_t value) { return Word{Big{value}}; }
    static Word equal(const Word&, const Word&) { return Word::any(); }
    static Word select(const Word&, const Word& a, const Word& b) {
        a.require_whole();
        b.require_whole();
        return hull(a, b);
    }
    static constexpr std::size_t padded(std::size_t words) { return words; }

    static void require_factors(const Word& a, const Word& b, unsigned bits) {
        a.require_whole();
        b.require_whole();
        const Big wider = a.high > b.high ? a.high : b.high;
        if (wider > all_ones(bits - missing_bits)) fail("a factor is wider than the instruction reads");
        note(largest.factor, wider);
    }
};

struct PortableIntervals : IntervalLanes {
    using WideWord = Interval<128>;
    static WideWord multiply(const Word& a, const Word& b) {
        require_factors(a, b, 64);
        return WideWord{a.low * b.low, a.high * b.high}.recorded();
    }
    static Word narrowed(const WideWord& a) {
        a.require_whole();
        return a.high > all_ones(64) ? Word::cut() : Word{a.low, a.high};
    }
};

struct Avx2Intervals : IntervalLanes {
    static Word multiply(const Word& a, const Word& b) {
        require_factors(a, b, 32);
        return Word{a.low * b.low, a.high * b.high}.recorded();
    }
    template <class Words>
    static void settle(Words&) {}
    template <class Words>
    static void keep(Words&) {}
};

struct IfmaIntervals : IntervalLanes {
    static Word add_low(const Word& sum, const Word& a, const Word& b) {
        require_factors(a, b, 52);
        const Big product = a.high * b.high;
        return sum + Word{0, product < all_ones(52) ? product : all_ones(52)};
    }
    static Word add_high(const Word& sum, const Word& a, const Word& b) {
        require_factors(a, b, 52);
        return sum + Word{0, a.high * b.high >> 52};
    }
};

template <class Field>
struct Proof {
    using Group = Edwards<Field>;
    using Element = typename Field::Element;
    using Point = typename Group::Point;

    Element carried;  // what any carried element can be

    bool grow(const Element& other) {
        bool has_grown = false;
        for (unsigned i = 0; i < Field::kDigits; ++i) {
            const auto wider = hull(carried.digits[i], other.digits[i]);
            has_grown |= !(wider == carried.digits[i]);
            carried.digits[i] = wider;
        }
        return has_grown;
    }

    bool grow(const Point& point) {
        const bool in_plane = grow(point.x) | grow(point.y);
        return in_plane | grow(point.z) | grow(point.t);
    }

    // Every function that edwards.h calls on elements, of elements as they are carried. What comes out joins in.
    bool pass() {
        const Point any = {carried, carried, carried, carried};
        const typename Group::Words words = {{Interval<64>::any(), Interval<64>::any(), Interval<64>::any(),
                                              Interval<64>::any()}};
        bool has_grown = false;
        running = "doubling";
        has_grown |= grow(Group::template doubled<true>(any));
        running = "summand";
        const typename Group::Summand summand = Group::summand(any);
        has_grown |= grow(summand.sum) | grow(summand.difference) | grow(summand.twice_z) | grow(summand.product);
        running = "addition";
        has_grown |= grow(Group::added(any, {carried, carried, carried, carried}, Interval<64>::any()));
        running = "addition of an affine point";
        const typename Group::AffineSummand affine = Group::affine_summand(any);
        has_grown |= grow(affine.sum) | grow(affine.difference) | grow(affine.product);
        has_grown |= grow(Group::added(any, typename Group::AffineSummand{carried, carried, carried}, Interval<64>::any()));
        running = "decoding";
        Point decoded;
        Group::decode(words, decoded);
        has_grown |= grow(decoded);
        running = "mapping";
        has_grown |= grow(Group::mapped(words));
        running = "encoding";
        Group::encoded(any);
        running = "half an encoding of a double";
        const typename Group::Halfway half = Group::halfway(any);
        has_grown |= grow(half.e) | grow(half.f) | grow(half.g) | grow(half.h);
        const typename Group::Halfway any_half = {carried, carried, carried, carried};
        has_grown |= grow(Group::to_invert(any_half));
        running = "inversion";
        has_grown |= grow(Group::inverted(carried)) | grow(Group::multiply(carried, carried));
        running = "encoding of a double";
        Group::encoded_double(any_half, carried);
        running = "multiplication";
        ScalarDigits digits = {};
        typename Group::Summand multiples[kMultiples];
        has_grown |= grow(Group::multiplied(any, digits, multiples));
        running = "storage";
        for (const auto& digit : carried.digits) {
            // Two digits share a word.
            if (Field::kPackedWords < Field::kDigits && digit.high > all_ones(32)) fail("a digit does not fit half a word");
        }
        return has_grown;
    }

    void run(const char* name) {
        largest = {};
        const Number greatest = {{~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0} >> 1}};
        carried = Field::constant(kZero);
        grow(Field::constant(greatest));
        unsigned passes = 1;
        while (pass()) {
            if (++passes > 50) fail("the digits grow without end");
        }
        // How far above its bits a digit is.
        std::printf("%-12s %u passes; digits below", name, passes);
        for (unsigned i = 0; i < Field::kDigits; ++i) {
            const auto whole = static_cast<unsigned>(bits(carried.digits[i].high));
            std::printf(" 2^%u+2^%.1f", whole, bits(carried.digits[i].high - (Big{1} << whole) + 1));
        }
        std::printf("; factors %.2f, columns %.2f", bits(largest.factor), bits(largest.column));
        if (largest.wide != 0) std::printf(", wide columns %.2f", bits(largest.wide));
        std::printf(" bits\n");
    }

    static double bits(Big value) { return static_cast<double>(std::log2(static_cast<long double>(value))); }
};

}  // namespace
}  // namespace plumbob

int main(int count, char** words) {
    using namespace plumbob;
    if (count > 1 && std::strcmp(words[1], "narrower") == 0) missing_bits = 1;
    Proof<PortableField<PortableIntervals>>().run("portable");
    Proof<Avx2Field<Avx2Intervals>>().run("avx2");
    Proof<IfmaField<IfmaIntervals>>().run("avx512ifma");
    return 0;
}
