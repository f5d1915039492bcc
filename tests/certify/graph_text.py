# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of a graph: its nodes with the values that they read and make, and the bytes of its values.

Reads what `gradcut show --no-loc` prints (doc/ir.md) and shares no code with gradcut's own parser.
"""
import math
import re

BYTES = {"bool": 1, "i8": 1, "u8": 1, "i16": 2, "f16": 2, "bf16": 2, "i32": 4, "f32": 4, "i64": 8, "f64": 8}
CONSTANTS = {"full", "iota", "dim"}  # depend on sizes alone: made where they are read


class Refused(Exception):
    pass


def refuse(sentence):
    raise Refused(sentence)


# ---- the text IR ----

TOKEN = re.compile(
    r'\s+|//[^\n]*|(?P<value>%[\w.]+)|(?P<global>@[\w.]+)|(?P<mark>#[\w.]+)|(?P<loc>![0-9]+)'
    r'|(?P<string>"(?:[^"\\\n]|\\.)*")|(?P<number>0x[0-9a-fA-F.]+(?:p[+-]?\d+)?|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)'
    r'|(?P<word>[A-Za-z_][\w.]*)|(?P<other>->|\.\.|[()\[\]{},:=+\-*?.])', re.ASCII)

NAME = re.compile(r"[\w.]+", re.ASCII)


class Node:
    def __init__(self):
        self.results, self.operands, self.op, self.attrs = [], [], "", {}


class Graph:
    def __init__(self):
        self.name, self.symbols = "", []
        self.params, self.results = [], []  # (role, name, type, marks); of results also the value
        self.nodes, self.types, self.maker = [], {}, {}

    def signature(self):
        return self.params, [r[:4] for r in self.results]


class Reader:
    """The functions of a text; of a node, the operands of its regions are those that the regions capture."""

    def __init__(self, text):
        self.text, self.at, self.tokens = text, 0, []
        pos = 0
        while pos < len(text):
            m = TOKEN.match(text, pos)
            if not m:
                refuse("the graph's text: line %d: unexpected %r" % (text.count("\n", 0, pos) + 1, text[pos]))
            if m.lastgroup:
                self.tokens.append((m.lastgroup, m.group(), pos))
            pos = m.end()
        self.tokens.append(("end", "", len(text)))

    def fail(self, expected):
        kind, word, pos = self.tokens[self.at]
        line = self.text.count("\n", 0, pos) + 1
        refuse("the graph's text: line %d: expected %s, found %r" % (line, expected, word))

    def peek(self, word):
        return self.tokens[self.at][1] == word and self.tokens[self.at][0] != "string"

    def kind(self):
        return self.tokens[self.at][0]

    def next(self):
        self.at += 1
        return self.tokens[self.at - 1][1]

    def accept(self, word):
        if self.peek(word):
            self.at += 1
            return True
        return False

    def expect(self, word):
        if not self.accept(word):
            self.fail("%r" % word)

    def take(self, kind):
        if self.kind() != kind:
            self.fail("a " + kind)
        return self.next()

    def skip_brackets(self, opening, closing):
        """The words between brackets, which may nest."""
        words, depth = [], 1
        self.expect(opening)
        while depth:
            if self.kind() == "end":
                self.fail("%r" % closing)
            word = self.next()
            depth += (word == opening) - (word == closing)
            words.append(word)
        return words[:-1]

    def type(self):
        dtype = self.take("word")
        if dtype not in BYTES:
            self.fail("a dtype")
        dims, one = [], []
        for word in self.skip_brackets("[", "]"):
            if word == "," and one.count("(") == one.count(")"):
                dims.append(one)
                one = []
            else:
                one.append(word)
        if one:
            dims.append(one)
        if self.peek("{"):
            self.skip_brackets("{", "}")
        return dtype, dims

    def marks(self):
        out = []
        while self.kind() == "mark":
            mark = self.next()
            out.append((mark, tuple(self.skip_brackets("(", ")")) if self.peek("(") else ()))
        if self.kind() == "loc":
            self.next()
        return out

    def interface(self, is_param):
        out = []
        self.expect("(")
        while not self.accept(")"):
            role = self.take("word")
            if is_param:
                name = self.take("value")[1:]
            else:
                name = NAME.match(self.text, self.tokens[self.at][2])
                if not name:
                    self.fail("a result's name")
                while self.tokens[self.at][2] < name.end():
                    self.at += 1
                name = name.group()
            self.expect(":")
            out.append((role, name, self.type(), self.marks()))
            self.accept(",")
        return out

    def binds(self, scope, types):
        names = []
        while True:
            name = self.take("value")[1:]
            if self.accept(":"):
                types[name] = self.type()
            names.append(name)
            scope.add(name)
            if not self.accept(","):
                return names

    def arguments(self, node):
        self.expect("(")
        while not self.accept(")"):
            if self.kind() == "value":
                node.operands.append(self.next()[1:])
            elif self.kind() == "global":
                self.next()
            elif self.kind() == "word" and self.tokens[self.at + 1][1] == "=":
                key = self.next()
                self.next()
                words = []
                while not (self.peek(",") or self.peek(")")):
                    if self.kind() == "end":
                        self.fail("')'")
                    for opening, closing in ("[]", "()"):
                        if self.peek(opening):
                            words += [opening] + self.skip_brackets(opening, closing) + [closing]
                            break
                    else:
                        words.append(self.next())
                node.attrs[key] = words
            else:  # a number as an operand
                while not (self.peek(",") or self.peek(")")):
                    if self.kind() == "end":
                        self.fail("')'")
                    self.next()
            self.accept(",")

    def statement(self, known, types):
        node, inner = Node(), set()
        node.results = self.binds(inner, types)
        self.expect("=")
        node.op = self.take("word")
        self.arguments(node)
        while self.kind() in ("word", "mark", "loc") and not self.peek("return") and not self.peek("yield"):
            if self.kind() == "word":
                for name in self.region(known):
                    if name not in node.operands:
                        node.operands.append(name)
            elif not self.marks():
                pass
        for name in node.operands:
            if name not in known:
                self.fail("%%%s to be defined before it is read" % name)
        for name in node.results:
            if name in known:
                self.fail("%%%s to be defined once" % name)
        known |= inner
        return node

    def region(self, outer):
        """Reads a body; what it captures of the values around it."""
        if self.next() not in ("then", "else", "cond", "body"):
            self.at -= 1
            self.fail("a region")
        own, captured = set(), []
        if self.accept("("):
            if not self.accept(")"):
                self.binds(own, {})
                self.expect(")")
        self.expect("{")
        known = outer | own
        reads = []
        while not self.accept("yield"):
            before = set(known)
            node = self.statement(known, {})
            own |= known - before
            reads += node.operands
        while self.kind() == "value":
            reads.append(self.next()[1:])
            self.accept(",")
        self.marks()
        self.expect("}")
        for name in reads:
            if name not in known:
                self.fail("%%%s to be defined before it is read" % name)
            if name not in own and name not in captured:
                captured.append(name)
        return captured

    def function(self):
        g = Graph()
        self.expect("func")
        g.name = self.take("global")[1:]
        if self.peek("["):
            declared = self.skip_brackets("[", "]")
            g.symbols = [w for k, w in enumerate(declared) if k == 0 or declared[k - 1] == ","]
        g.params = self.interface(True)
        self.expect("->")
        results = self.interface(False)
        self.marks()
        self.expect("{")
        for _, name, type_, _ in g.params:
            if name in g.types:
                self.fail("%%%s to be defined once" % name)
            g.types[name] = type_
        known = set(g.types)
        while not self.accept("return"):
            node = self.statement(known, g.types)
            for name in node.results:
                if name not in g.types:
                    self.fail("a type for %%%s" % name)
                g.maker[name] = node
            g.nodes.append(node)
        returned = []
        while self.kind() == "value":
            returned.append(self.next()[1:])
            if returned[-1] not in known:
                self.fail("%%%s to be defined before it is returned" % returned[-1])
            self.accept(",")
        self.marks()
        self.expect("}")
        if len(returned) != len(results):
            self.fail("%d results to be returned" % len(results))
        g.results = [r + (v,) for r, v in zip(results, returned)]
        return g

    def last_function(self):
        found = None
        while self.kind() != "end":
            if self.peek("func"):
                found = self.function()
            else:
                self.next()
        if not found:
            refuse("the graph's text has no function")
        return found


def hash_of(text):
    """FNV-1a of the bytes."""
    h = 0xcbf29ce484222325
    for byte in text.encode():
        h = (h ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return "%016x" % h


# ---- sizes ----

class Size:
    """The value of a size at the sizes of the symbols."""

    def __init__(self, words, at):
        self.words, self.at, self.pos = words, at, 0

    def peek(self):
        return self.words[self.pos] if self.pos < len(self.words) else ""

    def next(self):
        self.pos += 1
        return self.words[self.pos - 1] if self.pos <= len(self.words) else ""

    def fail(self):
        refuse("at: the size %s has no value" % " ".join(self.words))

    def factor(self):
        word = self.next()
        if word == "(":
            x = self.sum()
            if self.next() != ")":
                self.fail()
            return x
        if word in ("div", "ceildiv", "mod", "min", "max") and self.next() == "(":
            args = [self.sum()]
            while self.peek() == ",":
                self.next()
                args.append(self.sum())
            if self.next() != ")":
                self.fail()
            if word in ("min", "max"):
                return min(args) if word == "min" else max(args)
            if len(args) != 2 or args[1] == 0:
                self.fail()
            x, y = args
            return x // y if word == "div" else -(-x // y) if word == "ceildiv" else x % y
        if word.isdigit():
            return int(word)
        if word not in self.at:
            refuse("at: there is no size for %s" % word)
        return self.at[word]

    def term(self):
        x = self.factor()
        while self.peek() == "*":
            self.next()
            x *= self.factor()
        return x

    def sum(self):
        sign, x = 1, 0
        if self.peek() == "-":
            self.next()
            sign = -1
        while True:
            x += sign * self.term()
            if self.peek() not in ("+", "-"):
                return x
            sign = 1 if self.next() == "+" else -1

    def value(self):
        x = self.sum()
        if self.pos != len(self.words) or x < 0:
            self.fail()
        return x


def elements(type_, at):
    return math.prod(Size(words, at).value() for words in type_[1])


def stored(type_, form, at):
    """Bytes of a value in that form; None: there is no such form of it."""
    n = elements(type_, at)
    if form == "plain":
        return n * BYTES[type_[0]]
    if form == "grad":
        return 0
    if form == "bf16" and type_[0] == "f32":
        return 2 * n
    if form == "bits" and type_[0] == "bool":
        return (n + 7) // 8
    return None
