#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks the certificates of plan files against the text of a joint graph; shares no code with gradcut.

    gradcut plan MODEL -o plan.json --certificate
    gradcut show MODEL --stage joint --no-loc | certify.py - plan.json

Prints a line for each claim that holds, or a sentence on the first that does not; exits with 1 when a plan is refused.
What is checked, and what is taken as given: doc/plans.md, "Certificates".
"""
import json
import math
import sys

from graph_text import CONSTANTS, Reader, Refused, hash_of, refuse, stored

NEAR = 1e-9  # sums of doubles in another order agree to this part of them
LINE = 64  # offsets in the arena are multiples of this
MOST = 1 << 61  # bytes and offsets are smaller


def are_near(x, y, size):
    return abs(x - y) <= NEAR * size + 1e-9


# ---- the plan file ----

def kind_of(x):
    return {dict: "an object", list: "a list", str: "a string", bool: "true or false", int: "a whole number",
            float: "a number", type(None): "null"}[type(x)]


class Item:
    """A value of the file with its path, for messages."""

    def __init__(self, value, path):
        self.value, self.path = value, path

    def fail(self, expected):
        refuse("%s: expected %s, found %s" % (self.path or "the file", expected, kind_of(self.value)))

    def get(self, key):
        if not isinstance(self.value, dict):
            self.fail("an object")
        return Item(self.value.get(key), "%s.%s" % (self.path, key) if self.path else key)

    def items(self):
        if not isinstance(self.value, list):
            self.fail("a list")
        return [Item(x, "%s[%d]" % (self.path, i)) for i, x in enumerate(self.value)]

    def text(self):
        if not isinstance(self.value, str):
            self.fail("a string")
        return self.value

    def name(self):
        return self.text().removeprefix("%")

    def flag(self):
        if not isinstance(self.value, bool):
            self.fail("true or false")
        return self.value

    def whole(self, most=MOST):
        if type(self.value) is not int or not 0 <= self.value <= most:
            self.fail("a whole number from 0 to %d" % most)
        return self.value

    def real(self):
        if type(self.value) not in (int, float):
            self.fail("a number")
        if not -1e308 <= self.value <= 1e308:
            self.fail("a number of moderate size")
        return float(self.value)

    def amount(self, infinite=False):
        if infinite and self.value is None:
            return math.inf
        x = self.real()
        if not x >= 0:
            self.fail("a number of at least 0")
        return x

    def or_none(self, read):
        return None if self.value is None else read(self)


def once(pairs):
    out = dict(pairs)
    if len(out) != len(pairs):
        refuse("the file: a key stands twice in one object")
    return out


def number_of(word):
    refuse("the file: %s is no number of JSON" % word)


def read_plan(path):
    try:
        with open(path, encoding="utf-8") as f:
            return Item(json.load(f, object_pairs_hook=once, parse_constant=number_of), "")
    except (ValueError, OSError) as e:
        refuse("the file: %s" % e)
    except RecursionError:
        refuse("the file: it is nested too deep")


# ---- who belongs where ----

class Sides:
    """By name: late values, those of the backward graph alone, and those that it reads of the others."""

    def __init__(self, g):
        late, out, serves, live = set(), set(), set(), set()
        for role, name, _, marks in g.params:
            if role == "cotan" or any(m == "#late" for m, _ in marks):
                late.add(name)
        for node in g.nodes:
            if late.intersection(node.operands):
                late.update(node.results)
        for result in g.results:
            role, value = result[0], result[4]
            live.add(value)
            if not is_late(result):
                out.add(value)
            if role == "grad":
                serves.add(value)
        for node in reversed(g.nodes):
            sets = {s for s, members in (("out", out), ("serves", serves), ("live", live))
                    if members.intersection(node.results)}
            depends = not late.isdisjoint(node.results)
            if node.op == "external" and node.attrs.get("pure") != ["true"]:
                sets.add("live")
                if not depends:
                    sets.add("out")
            for s, members in (("out", out), ("serves", serves), ("live", live)):
                if s in sets:
                    members.update(node.results)
                    members.update(node.operands)
            if depends and "live" in sets:
                serves.update(node.operands)
        given = {name for _, name, _, _ in g.params}
        self.late = late
        self.backward = {v for v in g.types
                         if v in late or (v not in out and v not in given and v not in serves and v in live)}
        for node in g.nodes:
            if live.isdisjoint(node.results) and self.backward.intersection(node.operands):
                self.backward.update(node.results)
        self.read = {r[4] for r in g.results if is_late(r)}
        for node in g.nodes:
            if node.results[0] in self.backward and not live.isdisjoint(node.results):
                self.read.update(node.operands)
        self.read -= self.backward


def is_marked(marks, mark):
    return any(m == mark for m, _ in marks)


def is_late(result):
    """A result of the backward graph."""
    return result[0] != "out" or is_marked(result[3], "#late")


# ---- the claims ----

class Checker:
    def __init__(self, plan, g):
        self.plan, self.c, self.g, self.said = plan, plan.get("certificate"), g, []
        self.at = {name: Item(x, "at.%s" % name).whole() for name, x in (plan.get("at").value or {}).items()}
        if sorted(self.at) != sorted(g.symbols):
            refuse("at: the sizes are those of %s, but @%s has %s" % (sorted(self.at), g.name, sorted(g.symbols)))
        self.sides = Sides(g)
        self.resident = sum(stored(t, "plain", self.at) for _, _, t, _ in g.params)
        self.resident += sum(stored(g.types[r[4]], "plain", self.at) for r in g.results if r[0] != "next")

    # schedule

    def run(self, which, have, twice):
        for item in self.c.get(which).items():
            name = item.name()
            node = self.g.maker.get(name)
            if not node or node.results[0] != name:
                refuse("%s: %%%s is not the first result of a node of @%s" % (item.path, name, self.g.name))
            if name in have and not twice:
                refuse("%s: %%%s is computed a second time" % (item.path, name))
            for x in node.operands:
                if x not in have and not self.is_constant(x):
                    refuse("%s: %%%s reads %%%s, which is neither computed before nor %s"
                           % (item.path, name, x, "saved" if twice else "given"))
            have.update(node.results)

    def is_constant(self, name):
        return name in self.g.maker and self.g.maker[name].op in CONSTANTS

    def saved(self):
        return [x for x in self.plan.get("values").items() if x.get("fate").text() == "saved"]

    def check_schedule(self):
        g = self.g
        fwd = {name for _, name, _, _ in g.params if name not in self.sides.late}
        self.run("forward", fwd, False)
        bwd = {name for _, name, _, marks in g.params if not is_marked(marks, "#transient")}
        lost = {r[4] for r in g.results if is_marked(r[3], "#transient")}
        lost |= {name for _, name, _, marks in g.params if is_marked(marks, "#transient")}
        bwd |= {r[4] for r in g.results if not is_late(r) and r[4] in fwd} - lost
        total = 0
        for item in self.saved():
            name, form = item.get("value").name(), item.get("form").or_none(Item.text) or "plain"
            if name not in g.types:
                refuse("%s: @%s has no %%%s to save" % (item.path, g.name, name))
            if name not in fwd:
                refuse("%s: %%%s is saved, but certificate.forward does not compute it" % (item.path, name))
            bytes_ = stored(g.types[name], form, self.at)
            if bytes_ is None:
                refuse("%s: %%%s cannot be saved as %s" % (item.path, name, form))
            if bytes_ != item.get("bytes").whole():
                refuse("%s: %%%s takes %d bytes as %s, not %d"
                       % (item.path, name, bytes_, form, item.get("bytes").whole()))
            total += bytes_
            bwd.add(name)
        if total != self.plan.get("saved_bytes").whole():
            refuse("saved_bytes is %d, the saved values take %d" % (self.plan.get("saved_bytes").whole(), total))
        self.run("backward", bwd, True)
        for result in g.results:
            role, name, _, _, value = result
            which, have = ("backward", bwd) if is_late(result) else ("forward", fwd)
            if value not in have and not self.is_constant(value):
                refuse("certificate.%s does not compute %%%s, which the result %s %s is" % (which, value, role, name))
        self.said.append("schedule: %d nodes forward, %d backward; %d bytes saved"
                         % (len(self.c.get("forward").value), len(self.c.get("backward").value), total))

    # memory

    def check_memory(self):
        top = {"arena": 0, "block": 0}
        spans = []
        for item in self.c.get("buffers").items():
            b = {k: item.get(k).whole() for k in ("bytes", "offset", "first", "last")}
            b.update(path=item.path, name=item.get("name").text(), where=item.get("in").text(),
                     saved=item.get("saved").flag())
            if b["where"] not in top:
                refuse("%s.in: expected arena or block" % item.path)
            if b["first"] > b["last"]:
                refuse("%s (%s): its last kernel is before its first" % (item.path, b["name"]))
            if b["offset"] % LINE:
                refuse("%s (%s): its offset %d is no multiple of %d" % (item.path, b["name"], b["offset"], LINE))
            b["end"] = b["offset"] + -(-b["bytes"] // LINE) * LINE
            if b["bytes"]:
                top[b["where"]] = max(top[b["where"]], b["end"])
            spans.append(b)
        for where in top:
            alive = []
            for b in sorted((b for b in spans if b["where"] == where and b["bytes"]), key=lambda b: b["first"]):
                alive = [y for y in alive if where == "block" or y["last"] >= b["first"]]
                for y in alive:
                    if b["offset"] < y["end"] and y["offset"] < b["end"]:
                        refuse("%s (%s) and %s (%s) are both in use by kernel k%d and overlap: bytes %d to %d and "
                               "%d to %d" % (y["path"], y["name"], b["path"], b["name"], b["first"], y["offset"],
                                             y["end"], b["offset"], b["end"]))
                alive.append(b)
        self.check_uses(spans)
        self.check_saved(spans)
        block = self.plan.get("block_bytes").or_none(Item.whole) or 0
        if block and top["block"] > block:
            refuse("block_bytes is %d, its buffers take %d" % (block, top["block"]))
        peak = self.plan.get("peak_bytes").whole()
        if top["arena"] + block + self.resident != peak:
            refuse("peak_bytes is %d; parameters, inputs and results take %d, the arena %d and the block of saved "
                   "values %d" % (peak, self.resident, top["arena"], block))
        self.said.append("memory: %d buffers, no two in one place at a time; peak %d bytes" % (len(spans), peak))

    def check_uses(self, spans):
        boundary = math.inf
        for item in self.c.get("kernels").items():
            k, half = item.get("kernel").whole(), item.get("half").text()
            if half == "backward":
                boundary = min(boundary, k)
            for use in item.get("uses").items():
                if use.whole() >= len(spans):
                    refuse("%s: there is no buffer %d" % (use.path, use.value))
                b = spans[use.value]
                if not b["first"] <= k <= b["last"]:
                    refuse("%s (k%d) uses %s (%s), which is there from k%d to k%d"
                           % (item.path, k, b["path"], b["name"], b["first"], b["last"]))
        for b in spans:
            # A forced save that nothing reads ends with its own kernel.
            if b["last"] >= boundary and not b["saved"] if b["first"] < boundary else b["saved"]:
                refuse("%s (%s): it is there from k%d to k%d, k%s is the first kernel of the backward graph, and `saved` "
                       "is %s" % (b["path"], b["name"], b["first"], b["last"], boundary, b["saved"]))

    def check_saved(self, spans):
        """What is saved has a buffer that is there in both graphs, and each of these has such a value."""
        bytes_ = {x.get("value").name(): x.get("bytes").whole() for x in self.saved()}
        place = {}
        for item in self.c.get("saved").items():
            name, buffer = item.get("value").name(), item.get("buffer").whole(len(spans) - 1)
            if name not in bytes_ or name in place:
                refuse("%s: %%%s is not among the saved `values`, or twice here" % (item.path, name))
            place[name] = buffer
            b = spans[buffer]
            if not b["saved"] or b["bytes"] != bytes_[name]:
                refuse("certificate.saved: %%%s takes %d bytes in %s (%s), which has %d and whose `saved` is %s"
                       % (name, bytes_[name], b["path"], b["name"], b["bytes"], b["saved"]))
        for name in bytes_:
            if bytes_[name] and name not in place:
                refuse("certificate.saved names no buffer of %%%s, which takes %d bytes" % (name, bytes_[name]))
        for k, b in enumerate(spans):
            if b["saved"] and b["bytes"] and k not in place.values():
                refuse("%s (%s) is there in both graphs, and no saved value is in it" % (b["path"], b["name"]))

    # time

    def check_time(self):
        kernels, last = self.c.get("kernels").items(), -1
        for item in kernels:
            if item.get("kernel").whole() <= last:
                refuse("%s: k%d does not come after k%d" % (item.path, item.get("kernel").value, last))
            last = item.get("kernel").value
        total = math.fsum(item.get("ns").amount() for item in kernels)
        step = self.plan.get("step_ns").amount()
        if not are_near(total, step, step):
            refuse("certificate.kernels: their times add up to %.17g ns, step_ns is %.17g" % (total, step))
        self.said.append("time: %d kernels add up to %g ns" % (len(kernels), total))

    # bound

    def check_bound(self):
        bound, printed = self.c.get("bound"), self.plan.get("lower_bound").or_none(Item.real)
        if bound.value is None:
            if printed is not None:
                refuse("lower_bound is %.17g, and certificate.bound null" % printed)
            self.said.append("bound: none is claimed")
            return
        price, limit = bound.get("lambda").amount(), bound.get("limit").or_none(Item.whole)
        budget = self.plan.get("budget").or_none(Item.whole)
        given = self.plan.get("saved_budget").or_none(Item.whole) if budget is None else budget - self.resident
        if limit != given:
            refuse("certificate.bound.limit is %s, the plan's budgets leave %s" % (limit, given))
        if limit is None and price != self.plan.get("lambda").amount():
            refuse("certificate.bound.lambda is %g, the plan's lambda %g" % (price, self.plan.get("lambda").value))
        forced = self.read_forced(bound, price)
        value = self.check_flow(bound, price, forced)
        paid, gives = sum(forced.values()), price * (limit or 0)
        proved, claimed = value + paid - gives, bound.get("proved_ns").real()
        if not are_near(proved, claimed, value + paid + gives):
            refuse("certificate.bound.proved_ns is %.17g, the flow proves %.17g" % (claimed, proved))
        if printed is None or not printed <= self.plan.get("cost_ns").amount() * (1 + NEAR):
            refuse("lower_bound is %s, more than the plan's cost_ns, or none" % printed)
        searched = limit is not None
        if not searched and printed > proved + NEAR * (value + paid + gives):
            refuse("lower_bound is %.17g, the flow proves %.17g" % (printed, proved))
        self.said.append("bound: a flow through %d arcs proves %.17g ns" % (len(bound.get("arcs").value), proved))

    # cost

    def check_cost(self):
        cost, lambda_ = self.plan.get("cost_ns").amount(), self.plan.get("lambda").amount()
        total = math.fsum(x.get("ns").amount() for x in self.plan.get("values").items())
        total += lambda_ * self.plan.get("saved_bytes").whole()
        if self.c.get("graph").value is not None and self.plan.get("budget").value is not None:
            self.said.append("cost: of planned loops under a budget, not checked")
        elif not are_near(total, cost, total):
            refuse("cost_ns is %.17g, the prices of `values` and of saved bytes add up to %.17g" % (cost, total))
        else:
            self.said.append("cost: prices add up to %.17g ns" % total)
        bound = self.plan.get("lower_bound").or_none(Item.real)
        if bound is not None and not are_near(self.plan.get("gap").real(), cost - bound, cost):
            refuse("gap is %.17g, cost_ns less lower_bound %.17g" % (self.plan.get("gap").real(), cost - bound))

    def read_forced(self, bound, price):
        saved = {x.get("value").name() for x in self.saved() if x.get("forced").or_none(Item.flag)}
        out = {}
        for item in bound.get("forced").items():
            name = item.get("value").name()
            if name not in saved or name in out:
                refuse("%s: %%%s is not a forced one of `values`, or is here twice" % (item.path, name))
            if item.get("bytes").whole() > stored(self.g.types[name], "plain", self.at):
                refuse("%s: saving %%%s cannot take %d bytes" % (item.path, name, item.get("bytes").value))
            out[name] = item.get("ns").amount() + price * item.get("bytes").whole()
        return out

    def check_flow(self, bound, price, forced):
        """What flows out of the source less what conservation is off by."""
        arcs, into, of, work = bound.get("arcs").items(), {}, {}, {}
        most = 2 * len(arcs) + 1
        for item in arcs:
            kind, name = item.get("kind").text(), item.get("value").name()
            here = "%s (%s %%%s)" % (item.path, kind, name)
            start, end = item.get("from").whole(most), item.get("to").whole(most)
            if kind not in ("recompute", "save", "operand", "read"):
                refuse("%s: there is no such kind" % here)
            if name not in self.g.types or name in self.sides.backward:
                refuse("%s: @%s has no such value in its forward part" % (here, self.g.name))
            if kind == "save":
                if start < 2 or end < 2 or start == end or {start, end} & (into.keys() | of.keys()):
                    refuse("%s: a vertex has two values" % here)
                into[start], of[end] = name, name
            if kind == "recompute":
                if start != 0 or end < 2 or end in work:
                    refuse("%s: it does not go from the source to work of its own" % here)
                node = self.g.maker.get(name)
                if node and node.results[0] != name:
                    refuse("%s: %%%s is not the first result of its node" % (here, name))
                work[end] = node
        inflow, outflow = {}, {}
        for item in arcs:
            kind, name = item.get("kind").text(), item.get("value").name()
            here = "%s (%s %%%s)" % (item.path, kind, name)
            start, end = item.get("from").whole(most), item.get("to").whole(most)
            if kind == "read":
                if end != 1 or of.get(start) != name:
                    refuse("%s: it does not go from the value to the sink" % here)
                if name not in self.sides.read and name not in forced:
                    refuse("%s: nothing in the backward graph reads %%%s" % (here, name))
            elif kind == "operand" and work.get(start) and into.get(end) == name:
                if name not in work[start].results:
                    refuse("%s: it is not a result of that work" % here)
            elif kind == "operand":
                if not work.get(end) or start not in of:
                    refuse("%s: it does not go from a value to the work of a node" % here)
                if of[start] not in work[end].operands:
                    refuse("%s: %%%s is no operand of %%%s" % (here, of[start], work[end].results[0]))
            ns, bytes_ = item.get("ns").amount(True), item.get("bytes").whole()
            capacity, flow = item.get("capacity").amount(True), item.get("flow").amount()
            if bytes_ and (kind != "save" or bytes_ > stored(self.g.types[name], "plain", self.at)):
                refuse("%s: saving %%%s cannot take %d bytes" % (here, name, bytes_))
            makes = ns + price * bytes_
            if math.isinf(makes) != math.isinf(capacity) or not (
                    math.isinf(makes) or are_near(makes, capacity, makes)):
                refuse("%s: its capacity is %.17g, but %.17g ns and %d bytes at lambda %g make %.17g"
                       % (here, capacity, ns, bytes_, price, makes))
            if flow > capacity * (1 + 1e-15):
                refuse("%s: a flow of %.17g is more than its capacity, %.17g" % (here, flow, capacity))
            inflow.setdefault(end, []).append(flow)
            outflow.setdefault(start, []).append(flow)
        off = []
        for v in sorted((inflow.keys() | outflow.keys()) - {0, 1}):
            x, y = math.fsum(inflow.get(v, [])), math.fsum(outflow.get(v, []))
            if not are_near(x, y, max(x, y)):
                whose = into.get(v) or of.get(v)
                refuse("certificate.bound.arcs: %.17g flows into vertex %d (%s), %.17g out of it"
                       % (x, v, "%" + whose if whose else "work", y))
            off.append(abs(x - y))
        return math.fsum(outflow.get(0, [])) - math.fsum(inflow.get(0, [])) - math.fsum(off)


def check(plan, text):
    certificate = plan.get("certificate")
    if certificate.value is None:
        refuse("certificate: there is none")
    if plan.get("format").value != 1:
        refuse("format: expected 1")
    g = Reader(text).last_function()
    graph = certificate.get("graph")
    if graph.value is not None:  # plans of loops have changed the joint graph
        text = graph.text()
        planned = Reader(text).last_function()
        if planned.signature() != g.signature():
            refuse("certificate.graph: its parameters and results are not those of @%s" % g.name)
        g = planned
    if hash_of(text) != plan.get("graph_hash").text():
        refuse("graph_hash is %s, that of @%s is %s: the plan is of another graph"
               % (plan.get("graph_hash").text(), g.name, hash_of(text)))
    checker = Checker(plan, g)
    checker.check_schedule()
    checker.check_memory()
    checker.check_time()
    checker.check_bound()
    checker.check_cost()
    return checker.said


def main():
    if len(sys.argv) < 3:
        print("usage: certify.py JOINT.gcut PLAN.json... (- reads the standard input)", file=sys.stderr)
        return 2
    with sys.stdin if sys.argv[1] == "-" else open(sys.argv[1], encoding="utf-8") as f:
        text = f.read()
    code = 0
    for path in sys.argv[2:]:
        here = path + ": " if len(sys.argv) > 3 else ""
        try:
            for line in check(read_plan(path), text):
                print(here + line)
        except Refused as e:
            print("%srefused: %s" % (here, e))
            code = 1
        except RecursionError:
            print("%srefused: a text is nested too deep" % here)
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
