# SPDX-License-Identifier: GPL-3.0-or-later
# Values of numpy.einsum: python3 einsum.py > einsum.txt
#
# A line per case: the equation, the sizes of its letters, the result's values.  Operand k has, in row-major order,
# the elements ((7 i + 3 k) mod 11 - 5) / 4, which makes every sum exact.
import numpy as np

CASES = [
    ("ij,jk->ik", dict(i=3, j=4, k=5)), ("ij,jk", dict(i=3, j=4, k=5)), ("ba,cb", dict(a=2, b=3, c=4)),
    ("bhqd,bhkd->bhqk", dict(b=2, h=3, q=4, k=5, d=6)), ("bhqk,bhkd->bqhd", dict(b=2, h=3, q=4, k=5, d=6)),
    ("i,j->ij", dict(i=4, j=3)), ("i,j->ji", dict(i=4, j=3)), ("i,i", dict(i=7)), ("i,i->i", dict(i=7)),
    ("ij,ij->j", dict(i=4, j=3)), ("ij,ji->", dict(i=4, j=3)), ("ii", dict(i=5)), ("ii->i", dict(i=5)),
    ("iij->j", dict(i=3, j=4)), ("iji->ij", dict(i=3, j=4)), ("iii", dict(i=4)), ("ijij->ij", dict(i=3, j=2)),
    ("ij->ji", dict(i=3, j=4)), ("ij->", dict(i=3, j=4)), ("ij->i", dict(i=3, j=4)), ("ba", dict(a=3, b=4)),
    ("ij,jk,kl->il", dict(i=2, j=3, k=4, l=5)), ("ij,jk,kl,lm", dict(i=2, j=3, k=4, l=5, m=2)),
    ("bi,bj,bk->bijk", dict(b=3, i=2, j=3, k=4)), ("ab,bc,ca->", dict(a=3, b=4, c=5)),
    ("abc,c->ab", dict(a=2, b=3, c=4)), ("abc,bd,cd->ad", dict(a=2, b=3, c=4, d=5)), ("a,b,c->b", dict(a=2, b=3, c=4)),
    ("i,->i", dict(i=3)), (",", {}), ("ij,k->k", dict(i=2, j=3, k=4)), ("iIj,I->jI", dict(i=2, I=3, j=4)),
    ("bij,bjk->ik", dict(b=3, i=2, j=4, k=5)), ("ii,ij->j", dict(i=3, j=4)), ("ij,jj->i", dict(i=3, j=4)),
    ("ij,jk->ik", dict(i=1, j=1, k=1)), ("ij,jk->ik", dict(i=2, j=0, k=3)), ("ij,jk->ik", dict(i=0, j=2, k=3)),
    ("ii->", dict(i=0)), ("bctk,bsk,tc->bst", dict(b=2, c=3, t=4, k=5, s=3)),
]
for equation, size in CASES:
    terms = equation.split("->")[0].split(",")
    operands = []
    for k, t in enumerate(terms):
        shape = [size[c] for c in t]
        n = int(np.prod(shape))
        operands.append((((7 * np.arange(n) + 3 * k) % 11 - 5) / 4.0).reshape(shape))
    out = np.einsum(equation, *operands)
    sizes = ",".join(f"{c}={n}" for c, n in size.items()) or "-"
    print(equation, sizes, "x".join(map(str, out.shape)) or "-", *[repr(float(v)) for v in out.ravel()])
