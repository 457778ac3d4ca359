#!/usr/bin/env python3
"""The check of names finds what it is there to find, and lets a clean folder pass."""

import tempfile
import unittest
from pathlib import Path

from unique_names import names_of, violations


def local(text, namespace="sagabox"):
    return f"namespace {namespace} {{\nnamespace {{\n{text}\n}}  // namespace\n}}\n"


# Pairs of files of one folder that may share a translation unit.
CLEAN = [
    (local("int one() { return 1; }"), local("int two() { return 2; }")),
    (local("int same();", "sagabox::a"), local("int same();", "sagabox::b")),
    (local("using Kind = A::Kind;"), local("using Kind = A::Kind;")),
    (local("using std::chrono::seconds;"), local("using ::std::chrono::seconds;")),
    (local("namespace fs = std::filesystem;"), local("namespace fs = std::filesystem;")),
    (local("using namespace std::chrono_literals;"),) * 2,
    (
        local('constexpr auto a = R"(\nint same() {\n)";'),
        local('constexpr auto b = R"(\nint same() {\n)";'),
    ),
    (local('auto a = R"~(")" int same;)~";'), local('auto b = R"~(")" int same;)~";')),
    (local("// int same;\n/* int same; */"),) * 2,
    (
        local("int a() { int same = 1; return same; }"),
        local("int b() { int same = 2; return same; }"),
    ),
    (local("struct A { int same; };"), local("struct B { int same; };")),
    (local("enum class A { same };"), local("enum class B { same };")),
    (
        local("bool operator==(A, A) { return true; }"),
        local("bool operator==(B, B) { return true; }"),
    ),
    (
        local("auto a = [](int same) { return same; };"),
        local("auto b = [](int same) { return same; };"),
    ),
    ("int A::same() { return 1; }\n", "int B::same() { return 2; }\n"),
    ("A::A() : same{1}, other(2) {}\n", "B::B() : same{1} { other(); }\n"),
    ("int same(A) { return 1; }\n", "int same(B) { return 2; }\n"),
    ("int same(A) { static int a; return a; }\n", "int same(B) { return 2; }\n"),
    ("template <>\nstruct hash<A> {};\n", "template <>\nstruct hash<B> {};\n"),
    ("#define SAME 1\n#undef SAME\n", "#define SAME 2\n#undef SAME\n"),
    (local("TEST(Suite, One) {}"), local("TEST(Suite, Two) {}")),
    (local("static_assert(same(1) == 1);"),) * 2,
]

# Pairs of files of one folder that both have something named `same`.
BROKEN = [
    (local("int same() { return 1; }"), local("int same() { return 1; }")),
    (
        local("int same(int n) { return n; }"),
        local("std::string same(const A& a = {}) { return a; }"),
    ),
    (local("std::map<int, std::function<void(int)>>\nsame(\n    int n) {\n}"), local("int same;")),
    (
        local("template <class T>\n  requires(sizeof(T) > 1)\nT same(T t) { return t; }"),
        local("A same();"),
    ),
    (local("auto same() -> std::vector<int> { return {}; }"), local("struct same {};")),
    (
        local("[[nodiscard]] constexpr bool same(char c) noexcept(true) { return c; }"),
        local("A same;"),
    ),
    (local("constexpr int same = 1;"), local("const std::array<int, 2> same{1, 2};")),
    (local("char same[4];"), local("int other, same = 2;")),
    (local("std::atomic<int> same{0};"), local("thread_local A same(1);")),
    (local("class same final : public A {};"), local("template <class T> struct same { T t; };")),
    (local("enum same { a };"), local("union same { int i; };")),
    (local("enum A { first = f(1), same };"), local("enum { same = 2 };")),
    (local("struct flock same() { return {}; }"), local("enum class same : char { a };")),
    (local("template <class T> concept same = true;"), local("int same;")),
    (local("using same = A::Kind;"), local("using same = B::Kind;")),
    (local("using a::same;"), local("using b::same;")),
    (
        local("template <class T> using same = A<T>;"),
        local("template <class T> using same = B<T>;"),
    ),
    (local("namespace same = a;"), local("namespace same = b;")),
    (local("using same = int;"), local("int same();")),
    (local("int same();"), "namespace sagabox {\nint same(A a) { return a; }\n}\n"),
    ("static int same() { return 1; }\n", "static int same(A) { return 1; }\n"),
    ("constexpr int same = 1;\n", "static int same = 2;\n"),
    ("#define same 1\n", "#  define same(a) \\\n  a\n"),
    ("#define same 1\n", local("int same();")),
    (local('auto a = R"(")";\nint same;\nauto b = R"(")";'), local("int same;")),
    (local("auto a = 1'000;\nint same = '\\'';"), local('auto b = "\\"{";\nint same;')),
    ("namespace a::b::inline c {\nnamespace {\nint same;\n}\n}\n", local("int same;", "a::b::inline c")),
]


def check(files):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return violations(root)


class UniqueNames(unittest.TestCase):
    def test_clean_folders_pass(self):
        for first, second in CLEAN:
            with self.subTest(first=first, second=second):
                self.assertEqual(check({"src/a/x.cpp": first, "src/a/y.cpp": second}), ([], 2))

    def test_every_clash_is_caught_with_both_files(self):
        for first, second in BROKEN:
            with self.subTest(first=first, second=second):
                found, _ = check({"src/a/x.cpp": first, "src/a/y.cpp": second})
                self.assertEqual(len(found), 1, found)
                self.assertRegex(found[0], r"^src/a/x.cpp:\d+: same: also in src/a/y.cpp:\d+$")

    def test_all_roots_are_seen_and_rooms_are_apart(self):
        text = local("int same;")
        for root in ("src", "tests", "bench"):
            found, files = check({f"{root}/x.cpp": text, f"{root}/y.cpp": text})
            self.assertEqual((len(found), files), (1, 2))
        within = {"src/a/x.cpp": text, "src/a/b/y.cpp": text}
        self.assertEqual(len(check(within)[0]), 1)
        stores = {"src/stores/a/x.cpp": text, "src/stores/b/x.cpp": text}
        self.assertEqual(check(stores), ([], 2))
        apart = {"src/a/x.cpp": text, "src/b/x.cpp": text, "src/x.cpp": text, "src/a/x.hpp": text}
        self.assertEqual(check(apart), ([], 3))

    def test_a_test_defined_twice_is_caught(self):
        text = local("TEST_F(Suite, Name) {}")
        found, _ = check({"tests/x.cpp": text, "tests/y.cpp": text})
        self.assertEqual(found, ["tests/x.cpp:3: Suite.Name: also in tests/y.cpp:3"])

    def test_line_number_survives_raw_strings_and_comments(self):
        text = 'auto a = R"(\n\n)";\n/* one\n two */\nstatic int same;\n'
        self.assertEqual([(n.name, n.line) for n in names_of(text) if n.is_local], [("same", 6)])

    def test_text_that_cannot_be_read_is_a_violation(self):
        for text in ("namespace {\n", "}\n", "int a[3};\n", "void f() {\n"):
            with self.subTest(text=text):
                found, _ = check({"src/a/x.cpp": text})
                self.assertEqual(len(found), 1)
                self.assertTrue(found[0].startswith("src/a/x.cpp:"), found)


if __name__ == "__main__":
    unittest.main()
