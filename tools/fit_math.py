#!/usr/bin/env python3
"""Fits the polynomials of kernels/generic/math.h and prints them as C++ tables, with the error of each.

Every function of math.h is a clamp, one polynomial and one power of two. So four polynomials do:
  kExp2   q(r) with 2^r = 1 + r q(r),          |r| <= 1/2
  kExp    q(r) with e^r = 1 + r q(r),          |r| <= ln(2)/2
  kErf    h(a) with erfc(a) = 2^(a h(a)),      0 <= a < 3.93 (where erf rounds to 1)
  kGelu   g(a) with 2 Phi(-a) = 2^(a g(a)),    0 <= a < 6.2  (Phi is the normal distribution function)

Method: weighted minimax on a dense grid by the exchange algorithm of Remez (1934). Coefficients become floats one by one, from the
constant upwards, the rest being fitted again each time, so that a coefficient's rounding is made good by those after it. The linear
systems are solved in 60 decimal digits; the functions come from the C library in double. Same output on every run and machine
whose libm is good to a few ulp. `--check` compares the tables with those in math.h (exit code 1 when they differ).
"""
import math
import os
import re
import struct
import sys
from decimal import Decimal, getcontext

getcontext().prec = 60
EPS = 2.0 ** -23


def to_float(x):
    return struct.unpack("f", struct.pack("f", float(x)))[0]


def solve(rows):
    """Gaussian elimination with pivoting; rows are [coefficients..., right side] in Decimal."""
    n = len(rows)
    for i in range(n):
        pivot = max(range(i, n), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for k in range(i + 1, n):
            factor = rows[k][i] / rows[i][i]
            if factor:
                rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i])]
    x = [Decimal(0)] * n
    for i in reversed(range(n)):
        x[i] = (rows[i][n] - sum(rows[i][k] * x[k] for k in range(i + 1, n))) / rows[i][i]
    return x


def horner(coefficients, x):
    y = 0.0
    for c in reversed(coefficients):
        y = y * x + c
    return y


def remez(points, targets, weights, degree):
    """Coefficients of the polynomial of that degree that minimises max weight |target - polynomial| over the points."""
    count = degree + 2
    last = len(points) - 1
    chosen = sorted({round(last * i / (count - 1)) for i in range(count)})
    best = None
    for _ in range(60):
        rows = []
        for i, index in enumerate(chosen):
            x = Decimal(points[index])
            rows.append([x ** k for k in range(degree + 1)] + [Decimal((-1) ** i) / Decimal(weights[index]), Decimal(targets[index])])
        solution = [float(c) for c in solve(rows)]
        coefficients, level = solution[:-1], abs(solution[-1])
        error = [w * (t - horner(coefficients, x)) for x, t, w in zip(points, targets, weights)]
        worst = max(abs(e) for e in error)
        if best is None or worst < best[0]:
            best = (worst, coefficients)
        if worst <= level * 1.001:
            break
        # One extreme per run of equal sign; if there are more than needed, drop from the end with the smaller one.
        runs = []
        for i, e in enumerate(error):
            if runs and (error[runs[-1]] > 0) == (e > 0):
                if abs(e) > abs(error[runs[-1]]):
                    runs[-1] = i
            else:
                runs.append(i)
        while len(runs) > count:
            runs.pop(0 if abs(error[runs[0]]) < abs(error[runs[-1]]) else -1)
        if len(runs) < count:
            break
        chosen = runs
    return best[1]


def fit(name, low, high, degree, target, weight):
    grid = 4000  # even, so that 0 is never a point
    points = [0.5 * (low + high) - 0.5 * (high - low) * math.cos(math.pi * (i + 0.5) / grid) for i in range(grid)]
    targets = [target(x) for x in points]
    weights = [weight(x) for x in points]
    fixed = []
    for k in range(degree + 1):
        # The first k coefficients are rounded: what is left of the target is x^k times a polynomial.
        rest = [(t - horner(fixed, x)) / x ** k for x, t in zip(points, targets)]
        fixed.append(to_float(remez(points, rest, [w * abs(x) ** k for x, w in zip(points, weights)], degree - k)[0]))
    worst = max(abs(w * (t - horner(fixed, x))) for x, t, w in zip(points, targets, weights))
    return name, fixed, worst


def ratio(f, limit):
    return lambda x: f(x) / x if abs(x) > 1e-30 else limit


def phi(a):  # Phi(-a)
    return 0.5 * math.erfc(a * math.sqrt(0.5))


def tables():
    ln2 = math.log(2)
    q2 = ratio(lambda r: math.expm1(r * ln2), ln2)
    qe = ratio(math.expm1, 1.0)
    h = ratio(lambda a: math.log2(math.erfc(a)), 0)
    g = ratio(lambda a: math.log2(2 * phi(a)), 0)
    # Relative error of q is what erf and tanh need near 0; 2^r itself gets |r q| / 2^r <= 0.42 of it.
    yield fit("kExp2", -0.5, 0.5, 5, q2, lambda r: 1 / q2(r))
    yield fit("kExp", -0.5 * ln2, 0.5 * ln2, 5, qe, lambda r: 1 / qe(r))
    # d erf = erfc ln2 a dh, relative to erf.
    yield fit("kErf", 1e-5, 3.93, 8, h, lambda a: ln2 * a * math.erfc(a) / math.erf(a))
    # d gelu = a phi ln2 a dg, relative to the allowance a max(phi, 0.01).
    yield fit("kGelu", 1e-5, 6.2, 9, g, lambda a: ln2 * a * phi(a) / max(phi(a), 0.01))


def clamp_point(coefficients, exponent):
    """The a with a g(a) = exponent, and whether a g(a) falls all the way there."""
    a, previous = 0.0, 0.0
    while True:
        a += 1.0 / 1024
        value = a * horner(coefficients, a)
        if value >= previous:
            return a, False
        if value < exponent:
            return a, True
        previous = value


def text(name, coefficients):
    values = ", ".join("1.0f" if c == 1 else "%.9gf" % c for c in coefficients)
    return "constexpr float %s[] = {%s};" % (name, values)


def main():
    printed = []
    for name, coefficients, worst in tables():
        printed.append(text(name, coefficients))
        print("// largest weighted error %.3g = %.2f eps" % (worst, worst / EPS))
        print(printed[-1])
        if name in ("kErf", "kGelu"):
            print("// falls to 2^-126 at a = %.4f: %s" % clamp_point(coefficients, -126))
    if "--check" in sys.argv:
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "kernels", "generic", "math.h")
        source = re.sub(r"\s+", " ", open(path).read())
        missing = [line for line in printed if re.sub(r"\s+", " ", line) not in source]
        for line in missing:
            print("not in math.h: " + line, file=sys.stderr)
        return 1 if missing else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
