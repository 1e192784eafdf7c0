// Ristretto255 (RFC 9496) over any field below: points of the twisted Edwards curve -x^2 + y^2 = 1 + d x^2 y^2 modulo
// 2^255 - 19, `lanes` of them side by side, in coordinates (X : Y : Z : T) with x = X/Z, y = Y/Z and x y = T/Z.
//
// A `Field` brings: Machine, Element (digits of a residue, each in a Word of all lanes), Wide (sums of products before
// their carries), and
//   product, squared                    -> Wide, of elements that are carried or one sum or difference of carried ones
//   add, subtract, widened              of Wide
//   twice_product                       -> Wide, 2 a b or -2 a b of carried elements, whose a^2 + b^2 is given
//   carried                             of Wide -> Element
//   sum, difference                     of carried elements -> Element, to be multiplied
//   tightened                           a sum or difference as a carried element
//   canonical                           the digits of the residue below 2^255 - 19
//   constant, from_words, to_words      four words of 64 bits are a number, lowest first
//   pack, unpack                        a carried element as kPackedWords words for storage
//   select                              the first element where a mask is all ones, the second where it is zero
// A `Machine` brings: Word, lanes, spread, load, store, equal, select, bits, gather, scatter, prefetch.
//
// Which bounds digits keep is not argued here: native/tests/field_bounds.cpp runs these very functions on intervals.
// Nothing here branches on, or addresses by, a coordinate or a digit of a scalar, but for what has "public" in its comment.
#pragma once

#include "edwards_core.h"

#define PLUMBOB_INLINE inline __attribute__((always_inline))

namespace plumbob {
namespace {

// A number of 255 bits.
struct Number {
    std::uint64_t words[4];
};

constexpr Number kZero = {{0, 0, 0, 0}};
constexpr Number kOne = {{1, 0, 0, 0}};
constexpr Number kTwo = {{2, 0, 0, 0}};
// The names are RFC 9496's (section 4.1).
constexpr Number kD = {{0x75eb4dca135978a3, 0x00700a4d4141d8ab, 0x8cc740797779e898, 0x52036cee2b6ffe73}};
constexpr Number kTwiceD = {{0xebd69b9426b2f159, 0x00e0149a8283b156, 0x198e80f2eef3d130, 0x2406d9dc56dffce7}};
constexpr Number kSqrtM1 = {{0xc4ee1b274a0ea0b0, 0x2f431806ad2fe478, 0x2b4d00993dfbd7a7, 0x2b8324804fc1df0b}};
constexpr Number kSqrtAdMinusOne = {{0x7e97f6a0497b2e1b, 0xaf9d8e0c1b7854bd, 0x0f3cfcc931f5d1fd, 0x376931bf2b8348ac}};
constexpr Number kInvsqrtAMinusD = {{0x99c8fdaa805d40ea, 0x9d2f16175a4172be, 0x16c27b91fe01d840, 0x786c8905cfaffca2}};
constexpr Number kOneMinusDSquared = {{0xe27c09c1945fc176, 0x2c81a138cd5e350f, 0x9994abddbe70dfe4, 0x029072a8b2b3e0d7}};
constexpr Number kDMinusOneSquared = {{0x31ad5aaa44ed4d20, 0xd29e4a2cb01e1999, 0x4cdcd32f529b4eeb, 0x5968b37af66c2241}};
// What fills lanes that have no point of the caller: the generator's encoding.
constexpr Number kGenerator = {{0x714ebc6a0aaef2e2, 0x5f5100c561a984a8, 0x8ddd82a56a0be358, 0x762d8de04559a6b6}};

constexpr unsigned kMultiples = 8;          // of a point, that a digit of a scalar chooses from
constexpr std::size_t kBatchVectors = 64;   // share an inversion
constexpr unsigned kWindows = kFactorBytes; // of a factor: eight bits each
constexpr unsigned kBuckets = 129;          // of a window: one for each absolute value of a signed digit
constexpr unsigned kCoordinates = 4;

PLUMBOB_INLINE std::uint64_t read_word(const std::uint8_t* bytes) {
    std::uint64_t word = 0;
    for (unsigned i = 0; i < 8; ++i) word |= static_cast<std::uint64_t>(bytes[i]) << (8 * i);
    return word;
}

PLUMBOB_INLINE void write_word(std::uint8_t* bytes, std::uint64_t word) {
    for (unsigned i = 0; i < 8; ++i) bytes[i] = static_cast<std::uint8_t>(word >> (8 * i));
}

// All ones if two small numbers are equal. The compiler must not see that it is 0 or all ones, and branch.
PLUMBOB_INLINE std::uint64_t hidden_mask(unsigned left, unsigned right) {
    std::uint64_t mask = ((static_cast<std::uint64_t>(left ^ right) - 1) >> 63) & 1;
    __asm__("" : "+r"(mask));
    return 0 - mask;
}

template <class Field>
struct Edwards {
    using Machine = typename Field::Machine;
    using Word = typename Machine::Word;
    using Element = typename Field::Element;
    using Wide = typename Field::Wide;
    static constexpr unsigned kLanes = Machine::lanes;

    struct Point {
        Element x, y, z, t;
    };

    // What a point brings to an addition.
    struct Summand {
        Element sum, difference, twice_z, product;  // Y + X, Y - X, 2 Z, 2 d T
    };

    struct AffineSummand {
        Element sum, difference, product;  // y + x, y - x, 2 d x y
    };

    // Of a point whose double is encoded: 2 X Y, Z^2 + d T^2, Y^2 + X^2, Z^2 - d T^2.
    struct Halfway {
        Element e, f, g, h;
    };

    struct Words {
        Word words[4];
    };

    static PLUMBOB_INLINE Element multiply(const Element& a, const Element& b) { return Field::multiply(a, b); }
    static PLUMBOB_INLINE Element square(const Element& a) { return Field::square(a); }

    static Element negated(const Element& a) { return Field::tightened(Field::difference(Field::constant(kZero), a)); }

    static Word is_zero(const Element& a) {
        const Element reduced = Field::canonical(a);
        Word all = reduced.digits[0];
        for (unsigned i = 1; i < Field::kDigits; ++i) all = all | reduced.digits[i];
        return Machine::equal(all, Machine::spread(0));
    }

    static Word is_equal(const Element& a, const Element& b) { return is_zero(Field::difference(a, b)); }

    // RFC 9496 calls a residue negative if it is odd.
    static Word is_negative(const Element& a) {
        const Word low = Field::canonical(a).digits[0] & Machine::spread(1);
        return Machine::equal(low, Machine::spread(1));
    }

    static Element negated_where(const Word& mask, const Element& a) { return Field::select(mask, negated(a), a); }
    static Element absolute(const Element& a) { return negated_where(is_negative(a), a); }

    static Element squared_often(Element a, unsigned times) {
        for (unsigned i = 0; i < times; ++i) a = square(a);
        return a;
    }

    // a^(2^250 - 1) and a^11: what the two powers below begin with.
    static void start_power(const Element& a, Element& ones250, Element& eleventh) {
        const Element second = square(a);
        const Element ninth = multiply(a, squared_often(second, 2));
        eleventh = multiply(second, ninth);
        const Element ones5 = multiply(square(eleventh), ninth);
        const Element ones10 = multiply(squared_often(ones5, 5), ones5);
        const Element ones20 = multiply(squared_often(ones10, 10), ones10);
        const Element ones40 = multiply(squared_often(ones20, 20), ones20);
        const Element ones50 = multiply(squared_often(ones40, 10), ones10);
        const Element ones100 = multiply(squared_often(ones50, 50), ones50);
        const Element ones200 = multiply(squared_often(ones100, 100), ones100);
        ones250 = multiply(squared_often(ones200, 50), ones50);
    }

    // a^(p - 2), the inverse of all but zero.
    static Element inverted(const Element& a) {
        Element ones250, eleventh;
        start_power(a, ones250, eleventh);
        return multiply(squared_often(ones250, 5), eleventh);
    }

    // a^((p - 5) / 8)
    static Element near_root(const Element& a) {
        Element ones250, eleventh;
        start_power(a, ones250, eleventh);
        return multiply(squared_often(ones250, 2), a);
    }

    // SQRT_RATIO_M1 of RFC 9496: the non-negative root of u/v, or of i u/v where u/v is no square, and which it is.
    static Word root_of_ratio(const Element& u, const Element& v, Element& root) {
        const Element root_m1 = Field::constant(kSqrtM1);
        const Element cube = multiply(square(v), v);
        const Element seventh = multiply(square(cube), v);
        Element r = multiply(multiply(u, cube), near_root(multiply(u, seventh)));
        const Element check = multiply(v, square(r));
        const Element minus_u = negated(u);
        const Word is_right = is_equal(check, u);
        const Word is_flipped = is_equal(check, minus_u);
        const Word is_turned = is_equal(check, multiply(minus_u, root_m1));
        r = Field::select(is_flipped | is_turned, multiply(r, root_m1), r);
        root = absolute(r);
        return is_right | is_flipped;
    }

    // The point of an encoding, and where it is one: of the group, canonical, and not the identity.
    static Word decode(const Words& words, Point& point) {
        const Element one = Field::constant(kOne);
        const Element s = Field::from_words(words.words);
        const Words expected = to_words(Field::canonical(s));
        Word is_valid = Machine::spread(~std::uint64_t{0});
        Word any = Machine::spread(0);
        for (unsigned i = 0; i < 4; ++i) {
            is_valid = is_valid & Machine::equal(words.words[i], expected.words[i]);
            any = any | words.words[i];
        }
        const Word is_nothing = Machine::equal(any, Machine::spread(0));
        const Word is_odd = Machine::equal(words.words[0] & Machine::spread(1), Machine::spread(1));

        const Element ss = square(s);
        const Element u1 = Field::tightened(Field::difference(one, ss));
        const Element u2 = Field::tightened(Field::sum(one, ss));
        const Element u2_squared = square(u2);
        const Element dd = multiply(square(u1), Field::constant(kD));
        const Element v = Field::tightened(Field::difference(negated(dd), u2_squared));
        Element root;
        const Word was_square = root_of_ratio(one, multiply(v, u2_squared), root);
        const Element den_x = multiply(root, u2);
        const Element den_y = multiply(multiply(root, den_x), v);
        point.x = absolute(multiply(Field::tightened(Field::sum(s, s)), den_x));
        point.y = multiply(u1, den_y);
        point.z = one;
        point.t = multiply(point.x, point.y);
        return is_valid & was_square & ~(is_nothing | is_odd | is_negative(point.t) | is_zero(point.y));
    }

    // MAP of RFC 9496 (section 4.3.4). The highest bit is left out.
    static Point mapped(const Words& words) {
        const Element one = Field::constant(kOne);
        const Element minus_one = negated(one);
        const Element d = Field::constant(kD);
        const Element t = Field::from_words(words.words);
        const Element r = multiply(square(t), Field::constant(kSqrtM1));
        const Element u = multiply(Field::sum(r, one), Field::constant(kOneMinusDSquared));
        const Element rd = multiply(r, d);
        const Element v = multiply(Field::difference(minus_one, rd), Field::sum(r, d));
        Element s;
        const Word was_square = root_of_ratio(u, v, s);
        s = Field::select(was_square, s, negated(absolute(multiply(s, t))));
        const Element c = Field::select(was_square, minus_one, r);
        const Element high = multiply(multiply(c, Field::difference(r, one)), Field::constant(kDMinusOneSquared));
        const Element n = Field::difference(high, v);
        const Element sv = multiply(s, v);
        const Element ss = square(s);
        const Element w0 = Field::tightened(Field::sum(sv, sv));
        const Element w1 = multiply(n, Field::constant(kSqrtAdMinusOne));
        const Element w2 = Field::tightened(Field::difference(one, ss));
        const Element w3 = Field::tightened(Field::sum(one, ss));
        return {multiply(w0, w3), multiply(w2, w1), multiply(w1, w3), multiply(w0, w2)};
    }

    static Words to_words(const Element& canonical) {
        Words words;
        Field::to_words(canonical, words.words);
        return words;
    }

    // RFC 9496, section 4.3.2.
    static Words encoded(const Point& point) {
        const Element root_m1 = Field::constant(kSqrtM1);
        const Element u1 = multiply(Field::sum(point.z, point.y), Field::difference(point.z, point.y));
        const Element u2 = multiply(point.x, point.y);
        Element root;
        root_of_ratio(Field::constant(kOne), multiply(u1, square(u2)), root);
        const Element den1 = multiply(root, u1);
        const Element den2 = multiply(root, u2);
        const Element z_inverse = multiply(multiply(den1, den2), point.t);
        const Word is_turned = is_negative(multiply(point.t, z_inverse));
        const Element x = Field::select(is_turned, multiply(point.y, root_m1), point.x);
        const Element y = Field::select(is_turned, multiply(point.x, root_m1), point.y);
        const Element den = Field::select(is_turned, multiply(den1, Field::constant(kInvsqrtAMinusD)), den2);
        const Element signed_y = negated_where(is_negative(multiply(x, z_inverse)), y);
        return to_words(Field::canonical(absolute(multiply(den, Field::difference(point.z, signed_y)))));
    }

    static Halfway halfway(const Point& point) {
        const Element dtt = multiply(square(point.t), Field::constant(kD));
        const Element zz = square(point.z);
        const Element xy = multiply(point.x, point.y);
        return {Field::tightened(Field::sum(xy, xy)), Field::tightened(Field::sum(zz, dtt)),
                Field::carried(Field::add(Field::squared(point.x), Field::squared(point.y))),
                Field::tightened(Field::difference(zz, dtt))};
    }

    // The product whose inverse the encoding of the double needs; one where it is zero, which it is for the identity only.
    static Element to_invert(const Halfway& half) {
        const Element all = multiply(multiply(half.e, half.g), multiply(half.f, half.h));
        return Field::select(is_zero(all), Field::constant(kOne), all);
    }

    // The encoding of the double, which has x = e/f and y = g/h. It needs no root: the number under the root of an encoding
    // is, for a double, a square of what e, f, g and h are multiplied to. So a product's inverse is enough.
    static Words encoded_double(const Halfway& half, const Element& inverse) {
        const Element root_m1 = Field::constant(kSqrtM1);
        const Element eg = multiply(half.e, half.g);
        const Element fh = multiply(half.f, half.h);
        const Element z_inverse = multiply(eg, inverse);
        const Element t_inverse = multiply(fh, inverse);
        const Word is_turned = is_negative(multiply(eg, z_inverse));
        const Element e = Field::select(is_turned, half.g, half.e);
        const Element g = Field::select(is_turned, negated(half.e), half.g);
        const Element h = Field::select(is_turned, multiply(half.f, root_m1), half.h);
        const Element magic = Field::select(is_turned, root_m1, Field::constant(kInvsqrtAMinusD));
        const Element signed_g = negated_where(is_negative(multiply(multiply(h, e), z_inverse)), g);
        const Element s = multiply(multiply(Field::difference(h, signed_g), magic), multiply(signed_g, t_inverse));
        return to_words(Field::canonical(absolute(s)));
    }

    static Point identity() {
        return {Field::constant(kZero), Field::constant(kOne), Field::constant(kOne), Field::constant(kZero)};
    }

    static PLUMBOB_INLINE Summand summand(const Point& point) {
        return {Field::tightened(Field::sum(point.y, point.x)), Field::tightened(Field::difference(point.y, point.x)),
                Field::tightened(Field::sum(point.z, point.z)), multiply(point.t, Field::constant(kTwiceD))};
    }

    // Twice a point or minus twice a point, as the field's twice_product has it: an even number of them has no sign.
    template <bool kWithT>
    static PLUMBOB_INLINE Point doubled(const Point& point) {
        const Wide xx = Field::squared(point.x);
        const Wide yy = Field::squared(point.y);
        const Wide zz = Field::squared(point.z);
        const Wide squares = Field::add(xx, yy);
        const Element e = Field::carried(Field::twice_product(point.x, point.y, squares));
        const Element h = Field::carried(squares);
        const Element g = Field::carried(Field::subtract(yy, xx));
        const Element f = Field::carried(Field::subtract(Field::add(Field::add(zz, zz), xx), yy));
        Point result;
        result.x = multiply(e, f);
        result.y = multiply(g, h);
        result.z = multiply(f, g);
        if (kWithT) result.t = multiply(e, h);
        return result;
    }

    // The products that a sum is made of, of the left and of the right point.
    struct Products {
        Wide a, b, c, d;
    };

    // Complete for all points of the curve (Hisil, Wong, Carter, Dawson 2008). Where the mask is set, the summand's
    // negative is added: its sum and difference are to be swapped already.
    static PLUMBOB_INLINE Point finished_sum(const Products& products, const Word& is_negative) {
        const Element e = Field::carried(Field::subtract(products.b, products.a));
        const Element h = Field::carried(Field::add(products.b, products.a));
        const Element less = Field::carried(Field::subtract(products.d, products.c));
        const Element more = Field::carried(Field::add(products.d, products.c));
        const Element f = Field::select(is_negative, more, less);
        const Element g = Field::select(is_negative, less, more);
        return {multiply(e, f), multiply(g, h), multiply(f, g), multiply(e, h)};
    }

    static PLUMBOB_INLINE Point added(const Point& left, const Summand& right, const Word& is_negative) {
        const Element sum = Field::select(is_negative, right.difference, right.sum);
        const Element difference = Field::select(is_negative, right.sum, right.difference);
        const Products products = {Field::product(Field::difference(left.y, left.x), difference),
                                   Field::product(Field::sum(left.y, left.x), sum),
                                   Field::product(left.t, right.product), Field::product(left.z, right.twice_z)};
        return finished_sum(products, is_negative);
    }

    static PLUMBOB_INLINE Point added(const Point& left, const AffineSummand& right, const Word& is_negative) {
        const Element sum = Field::select(is_negative, right.difference, right.sum);
        const Element difference = Field::select(is_negative, right.sum, right.difference);
        const Wide z = Field::widened(left.z);
        const Products products = {Field::product(Field::difference(left.y, left.x), difference),
                                   Field::product(Field::sum(left.y, left.x), sum),
                                   Field::product(left.t, right.product), Field::add(z, z)};
        return finished_sum(products, is_negative);
    }

    static Point plus(const Point& left, const Point& right) {
        return added(left, summand(right), Machine::spread(0));
    }

    static void fill_multiples(Summand* multiples, const Point& point) {
        multiples[0] = summand(point);
        Point multiple = point;
        for (unsigned i = 1; i < kMultiples; ++i) {
            multiple = added(multiple, multiples[0], Machine::spread(0));
            multiples[i] = summand(multiple);
        }
    }

    // Every entry is read, whatever the digit is.
    static PLUMBOB_INLINE Summand chosen(const Summand* multiples, unsigned magnitude) {
        Summand found = {Field::constant(kOne), Field::constant(kOne), Field::constant(kTwo), Field::constant(kZero)};
        for (unsigned i = 0; i < kMultiples; ++i) {
            const Word mask = Machine::spread(hidden_mask(magnitude, i + 1));
            found.sum = Field::select(mask, multiples[i].sum, found.sum);
            found.difference = Field::select(mask, multiples[i].difference, found.difference);
            found.twice_z = Field::select(mask, multiples[i].twice_z, found.twice_z);
            found.product = Field::select(mask, multiples[i].product, found.product);
        }
        return found;
    }

    // In time that does not depend on the digits.
    static Point multiplied(const Point& point, const ScalarDigits& digits, Summand* multiples) {
        fill_multiples(multiples, point);
        Point total = identity();
        for (unsigned i = kScalarDigits; i-- > 0;) {
            if (i + 1 < kScalarDigits) {
                for (unsigned k = 0; k < 3; ++k) total = doubled<false>(total);
                total = doubled<true>(total);
            }
            const int digit = digits[i];
            const int sign = digit >> 7;  // 0 or -1
            const unsigned magnitude = static_cast<unsigned>((digit ^ sign) - sign);
            const Word is_negative = Machine::spread(hidden_mask(static_cast<unsigned>(-sign), 1));
            total = added(total, chosen(multiples, magnitude), is_negative);
        }
        return total;
    }

    // Bytes in and out. `count` may be less than there are lanes; the other lanes have the generator.
    static Words read(const std::uint8_t* bytes, std::size_t count, std::size_t stride) {
        alignas(64) std::uint64_t words[4][kLanes];
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            for (unsigned i = 0; i < 4; ++i) {
                words[i][lane] = lane < count ? read_word(bytes + lane * stride + 8 * i) : kGenerator.words[i];
            }
        }
        Words result;
        for (unsigned i = 0; i < 4; ++i) result.words[i] = Machine::load(words[i]);
        return result;
    }

    static void write(std::uint8_t* bytes, const Words& result, std::size_t count) {
        alignas(64) std::uint64_t words[4][kLanes];
        for (unsigned i = 0; i < 4; ++i) Machine::store(words[i], result.words[i]);
        for (unsigned lane = 0; lane < kLanes && lane < count; ++lane) {
            for (unsigned i = 0; i < 4; ++i) write_word(bytes + lane * kPointBytes + 8 * i, words[i][lane]);
        }
    }

    // The first lane whose mask is zero, or kLanes. Whether a point is one is public.
    static unsigned first_refused(const Word& is_valid) {
        const unsigned bits = Machine::bits(is_valid);
        unsigned lane = 0;
        while (lane < kLanes && (bits >> lane & 1) != 0) ++lane;
        return lane;
    }

    struct Room {
        Summand multiples[kMultiples];
        Halfway halves[kBatchVectors];
        Element inverted[kBatchVectors];  // what is to be inverted
        Element running[kBatchVectors];   // the products of these, up to each
    };

    static constexpr std::size_t kBatch = kBatchVectors * kLanes;

    // Encodes the doubles of `vectors` points, with one inversion.
    static void finish(std::uint8_t* out, std::size_t count, std::size_t vectors, Room& room) {
        Element running = Field::constant(kOne);
        for (std::size_t i = 0; i < vectors; ++i) {
            room.inverted[i] = to_invert(room.halves[i]);
            room.running[i] = running;
            running = multiply(running, room.inverted[i]);
        }
        Element inverse = inverted(running);
        for (std::size_t i = vectors; i-- > 0;) {
            const Words words = encoded_double(room.halves[i], multiply(inverse, room.running[i]));
            inverse = multiply(inverse, room.inverted[i]);
            write(out + i * kLanes * kPointBytes, words, count - i * kLanes);
        }
    }

    // `point_at(first, count, point)` gives the points of one vector and says which lanes have one.
    template <class PointAt>
    static std::size_t multiply_all(std::uint8_t* out, std::size_t count, const ScalarDigits& digits, Room& room,
                                    PointAt point_at) {
        for (std::size_t start = 0; start < count; start += kBatch) {
            const std::size_t size = count - start < kBatch ? count - start : kBatch;
            const std::size_t vectors = (size + kLanes - 1) / kLanes;
            for (std::size_t i = 0; i < vectors; ++i) {
                const std::size_t first = start + i * kLanes;
                Point point;
                const unsigned refused = first_refused(point_at(first, count - first, point));
                if (refused < kLanes) return first + refused;
                room.halves[i] = halfway(multiplied(point, digits, room.multiples));
            }
            finish(out + start * kPointBytes, size, vectors, room);
        }
        return kNoneRefused;
    }

    static std::size_t multiply_points(std::uint8_t* out, const std::uint8_t* points, std::size_t count,
                                       const ScalarDigits& digits, std::uint64_t* room) {
        return multiply_all(out, count, digits, *reinterpret_cast<Room*>(room),
                            [points](std::size_t first, std::size_t rest, Point& point) {
                                return decode(read(points + first * kPointBytes, rest, kPointBytes), point);
                            });
    }

    // The element that uniform bytes are mapped to, and where it is not the identity.
    static Word mapped_twice(const std::uint8_t* uniform, std::size_t rest, Point& point) {
        const Point low = mapped(read(uniform, rest, kUniformBytes));
        point = plus(low, mapped(read(uniform + kPointBytes, rest, kUniformBytes)));
        // The identity's class are the points with X Y = 0.
        return ~is_zero(multiply(point.x, point.y));
    }

    static std::size_t multiply_mapped(std::uint8_t* out, const std::uint8_t* uniform, std::size_t count,
                                       const ScalarDigits* digits, std::uint64_t* room) {
        if (digits != nullptr) {
            return multiply_all(out, count, *digits, *reinterpret_cast<Room*>(room),
                                [uniform](std::size_t first, std::size_t rest, Point& point) {
                                    return mapped_twice(uniform + first * kUniformBytes, rest, point);
                                });
        }
        for (std::size_t first = 0; first < count; first += kLanes) {
            Point point;
            const unsigned refused = first_refused(mapped_twice(uniform + first * kUniformBytes, count - first, point));
            if (refused < kLanes) return first + refused;
            write(out + first * kPointBytes, encoded(point), count - first);
        }
        return kNoneRefused;
    }

    static std::size_t add_points(std::uint8_t* out, const std::uint8_t* left, const std::uint8_t* right,
                                  std::size_t count) {
        for (std::size_t first = 0; first < count; first += kLanes) {
            Point points[2];
            const std::size_t at = first * kPointBytes;
            const Word is_left = decode(read(left + at, count - first, kPointBytes), points[0]);
            const Word is_right = decode(read(right + at, count - first, kPointBytes), points[1]);
            const unsigned refused = first_refused(is_left & is_right);
            if (refused < kLanes) return first + refused;
            write(out + at, encoded(plus(points[0], points[1])), count - first);
        }
        return kNoneRefused;
    }

    // A sum of points times public factors, by buckets (Pippenger). A factor has a signed digit for each of its windows of
    // eight bits; a lane is a window and has buckets of its own, so that no two lanes meet. A point goes into all lanes,
    // and each lane adds it to the bucket of its digit, or subtracts it. Digit 0 has a bucket too, which nobody reads.
    static constexpr unsigned kGroups = (kWindows + kLanes - 1) / kLanes;
    static constexpr std::size_t kEntryWords = Machine::padded(kCoordinates * Field::kPackedWords);
    static constexpr std::size_t kBucketWords = std::size_t{kGroups} * kBuckets * kLanes * kEntryWords;

    static PLUMBOB_INLINE std::size_t entry_at(unsigned group, unsigned bucket, unsigned lane) {
        return ((std::size_t{group} * kBuckets + bucket) * kLanes + lane) * kEntryWords;
    }

    static PLUMBOB_INLINE void pack_point(Word* packed, const Point& point) {
        Field::pack(point.x, packed);
        Field::pack(point.y, packed + Field::kPackedWords);
        Field::pack(point.z, packed + 2 * Field::kPackedWords);
        Field::pack(point.t, packed + 3 * Field::kPackedWords);
        for (std::size_t i = kCoordinates * Field::kPackedWords; i < kEntryWords; ++i) packed[i] = Machine::spread(0);
    }

    static PLUMBOB_INLINE Point unpack_point(const Word* packed) {
        return {Field::unpack(packed), Field::unpack(packed + Field::kPackedWords),
                Field::unpack(packed + 2 * Field::kPackedWords), Field::unpack(packed + 3 * Field::kPackedWords)};
    }

    static void clear(std::uint64_t* buckets) {
        Word packed[kEntryWords];
        pack_point(packed, identity());
        for (unsigned group = 0; group < kGroups; ++group) {
            for (unsigned bucket = 0; bucket < kBuckets; ++bucket) {
                std::uint64_t* entries[kLanes];
                for (unsigned lane = 0; lane < kLanes; ++lane) entries[lane] = buckets + entry_at(group, bucket, lane);
                Machine::template scatter<kEntryWords>(entries, packed);
            }
        }
    }

    // Digits from -128 to 128, lowest first: the highest may be 128, because a number below 2^127 may be carried to it.
    static void split_factor(const std::uint8_t* factor, std::int16_t* digits) {
        int carried = 0;
        for (unsigned window = 0; window < kWindows; ++window) {
            const bool is_last = window + 1 == kWindows;
            int digit = (is_last ? static_cast<std::int8_t>(factor[window]) : factor[window]) + carried;
            carried = !is_last && digit >= 128;
            digits[window] = static_cast<std::int16_t>(digit - 256 * carried);
        }
    }

    struct Places {
        std::size_t entries[kWindows];
        alignas(64) std::uint64_t negative[kWindows];
    };

    static void find_places(Places& places, const std::uint8_t* factor) {
        std::int16_t digits[kWindows];
        split_factor(factor, digits);
        for (unsigned window = 0; window < kWindows; ++window) {
            const bool is_negative = digits[window] < 0;
            const unsigned bucket = static_cast<unsigned>(is_negative ? -digits[window] : digits[window]);
            places.entries[window] = entry_at(window / kLanes, bucket, window % kLanes);
            places.negative[window] = 0 - static_cast<std::uint64_t>(is_negative);
        }
    }

    static PLUMBOB_INLINE void add_to_buckets(std::uint64_t* buckets, const AffineSummand& summand,
                                              const Places& places) {
        for (unsigned group = 0; group < kGroups; ++group) {
            std::uint64_t* entries[kLanes];
            for (unsigned lane = 0; lane < kLanes; ++lane) entries[lane] = buckets + places.entries[group * kLanes + lane];
            Word packed[kEntryWords];
            Machine::template gather<kEntryWords>(packed, entries);
            pack_point(packed, added(unpack_point(packed), summand, Machine::load(places.negative + group * kLanes)));
            Machine::template scatter<kEntryWords>(entries, packed);
        }
    }

    static PLUMBOB_INLINE void prefetch(const std::uint64_t* buckets, const Places& places) {
        for (unsigned window = 0; window < kWindows; ++window) {
            for (std::size_t word = 0; word < kEntryWords; word += 8) {
                __builtin_prefetch(buckets + places.entries[window] + word, 1);
            }
        }
    }

    // One lane of an element, in all lanes.
    static PLUMBOB_INLINE Element spread_lane(const std::uint64_t* stored, unsigned lane) {
        Element result;
        for (unsigned i = 0; i < Field::kDigits; ++i) result.digits[i] = Machine::spread(stored[i * kLanes + lane]);
        return result;
    }

    static void store_element(std::uint64_t* stored, const Element& element) {
        for (unsigned i = 0; i < Field::kDigits; ++i) Machine::store(stored + i * kLanes, element.digits[i]);
    }

    static AffineSummand affine_summand(const Point& point) {
        return {Field::tightened(Field::sum(point.y, point.x)), Field::tightened(Field::difference(point.y, point.x)),
                multiply(point.t, Field::constant(kTwiceD))};
    }

    static std::size_t combine(std::uint64_t* buckets, const std::uint8_t* points, const std::uint8_t* factors,
                               std::size_t count) {
        alignas(64) std::uint64_t stored[3][Field::kDigits * kLanes];
        Places places[kLanes];
        for (std::size_t first = 0; first < count; first += kLanes) {
            Point point;
            const std::size_t rest = count - first;
            for (unsigned lane = 0; lane < kLanes && lane < rest; ++lane) {
                find_places(places[lane], factors + (first + lane) * kFactorBytes);
                prefetch(buckets, places[lane]);
            }
            const unsigned refused = first_refused(decode(read(points + first * kPointBytes, rest, kPointBytes), point));
            if (refused < kLanes) return first + refused;
            const AffineSummand summands = affine_summand(point);
            store_element(stored[0], summands.sum);
            store_element(stored[1], summands.difference);
            store_element(stored[2], summands.product);
            for (unsigned lane = 0; lane < kLanes && lane < rest; ++lane) {
                const AffineSummand summand = {spread_lane(stored[0], lane), spread_lane(stored[1], lane),
                                               spread_lane(stored[2], lane)};
                add_to_buckets(buckets, summand, places[lane]);
            }
        }
        return kNoneRefused;
    }

    static Point bucket_sum(const std::uint64_t* const* sets, std::size_t count, unsigned group, unsigned bucket) {
        Point total = identity();
        for (std::size_t set = 0; set < count; ++set) {
            std::uint64_t* entries[kLanes];
            for (unsigned lane = 0; lane < kLanes; ++lane) {
                entries[lane] = const_cast<std::uint64_t*>(sets[set]) + entry_at(group, bucket, lane);
            }
            Word packed[kEntryWords];
            Machine::template gather<kEntryWords>(packed, entries);
            const Point point = unpack_point(packed);
            total = set == 0 ? point : plus(total, point);
        }
        return total;
    }

    // For each window of a group, the sum of all buckets times their numbers.
    static Point window_sums(const std::uint64_t* const* sets, std::size_t count, unsigned group) {
        Point running = identity(), total = identity();
        for (unsigned bucket = kBuckets; bucket-- > 1;) {
            running = plus(running, bucket_sum(sets, count, group, bucket));
            total = plus(total, running);
        }
        return total;
    }

    static void join(std::uint8_t* out, const std::uint64_t* const* sets, std::size_t count) {
        Point total = identity();
        for (unsigned group = kGroups; group-- > 0;) {
            const Point sums = window_sums(sets, count, group);
            alignas(64) std::uint64_t stored[kCoordinates][Field::kDigits * kLanes];
            store_element(stored[0], sums.x);
            store_element(stored[1], sums.y);
            store_element(stored[2], sums.z);
            store_element(stored[3], sums.t);
            for (unsigned lane = kLanes; lane-- > 0;) {
                for (unsigned k = 0; k < 8; ++k) total = doubled<true>(total);
                total = plus(total, {spread_lane(stored[0], lane), spread_lane(stored[1], lane),
                                     spread_lane(stored[2], lane), spread_lane(stored[3], lane)});
            }
        }
        write(out, encoded(total), 1);
    }

    static constexpr EdwardsCore make() {
        return {kLanes,          kBatch,     sizeof(Room) / 8, kBucketWords, multiply_points,
                multiply_mapped, add_points, clear,            combine,      join};
    }
};

}  // namespace
}  // namespace plumbob
