#!/usr/bin/env python3
"""Checks that .cpp files of one room can share a translation unit, as in a unity build.

usage: unique_names.py PROJECT_ROOT

A room is a folder with the folders in it, as in cmake/unity.cmake. Names that only one file sees must
be unique in its room: functions (overloads included: a call
could choose the other file's), variables, types, enumerators and macros. Aliases and using
declarations may be repeated if they read the same. Prints one line a name,
`file:line: name: also in other:line`, and exits with 1 if there is any.
"""

import re
import sys
from collections import defaultdict, namedtuple
from pathlib import Path

ROOTS = ("src", "tests", "bench")
ANONYMOUS = ""
EXTERN_C = None

# `scope` is the namespace around it, None for a macro; `text` is what an alias stands for, None for
# everything else. What is not local can be seen by other files; nothing local in another file may
# have its name.
Name = namedtuple("Name", "name line scope text is_local")
Token = namedtuple("Token", "text line")

TOKEN = re.compile(
    r"""
      (?P<raw>(?:u8|[uUL])?R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)")
    | (?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)
    | (?P<directive>^[ \t]*\#(?:\\\n|/\*.*?\*/|[^\n])*)
    | (?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*")
    | (?P<number>\.?\d(?:'?[\w.]|(?<=[eEpP])[+-])*)
    | (?P<char>(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')
    | (?P<operator>\boperator\s*(?:\(\s*\)|[^\s\w(]+))
    | (?P<word>[A-Za-z_]\w*)
    | (?P<sign>::|->|\S)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
MACRO = re.compile(r"\s*#\s*(define|undef)\s+(\w+)")
WORD = re.compile(r"[A-Za-z_]\w*$")
CLOSING = {"(": ")", "[": "]", "{": "}"}
TYPE_KEYS = {"class", "struct", "union", "enum"}
# They take parentheses that do not follow the name of a function.
WITH_ARGUMENTS = {"decltype", "alignas", "noexcept", "explicit", "requires", "__attribute__"}
TEST_MACRO = re.compile(r"(?:TYPED_)?TEST(?:_F|_P)?$|RC_GTEST_\w+$|INSTANTIATE_\w+$")


class Unreadable(Exception):
    """The text does not look like C++ to this check."""


def tokens_of(text):
    """The tokens of a file, strings emptied, and the macros it leaves defined, by name."""
    tokens, macros, line, end = [], {}, 1, 0
    for match in TOKEN.finditer(text):
        line += text.count("\n", end, match.start())
        end = match.start()
        kind, found = match.lastgroup, match.group(0)
        if kind == "directive":
            if macro := MACRO.match(found):
                if macro.group(1) == "define":
                    macros[macro.group(2)] = line
                else:
                    macros.pop(macro.group(2), None)
        elif kind in ("raw", "mark", "string", "char"):
            tokens.append(Token('""', line))
        elif kind == "operator":
            tokens.append(Token("operator", line))
        elif kind != "comment":
            tokens.append(Token(found, line))
    return tokens, macros


def after_group(tokens, start):
    """The position behind the bracket that closes the one at `start`."""
    expected = []
    for position in range(start, len(tokens)):
        text = tokens[position].text
        if text in CLOSING:
            expected.append(CLOSING[text])
        elif text in CLOSING.values():
            if text != expected.pop():
                raise Unreadable(f"{tokens[position].line}: {text} closes another bracket")
            if not expected:
                return position + 1
    raise Unreadable(f"{tokens[start].line}: {tokens[start].text} is never closed")


def after_angles(tokens, start):
    """The position behind the > that closes the < at `start`; `start` if it is an operator."""
    depth, position = 0, start
    while position < len(tokens):
        text = tokens[position].text
        if text in CLOSING:
            position = after_group(tokens, position)
            continue
        depth += {"<": 1, ">": -1}.get(text, 0)
        position += 1
        if depth == 0:
            return position
    return start


def declarator(statement):
    """The tokens up to a top-level =, and whether there is one.

    Without attributes and the arguments of a template; of other brackets only the opening one.
    """
    kept, position, is_assigned = [], 0, False
    while position < len(statement):
        text = statement[position].text
        before = kept[-1].text if kept else ""
        if text == "=":
            is_assigned = True
            break
        if text == "<" and WORD.match(before):
            behind = after_angles(statement, position)
            if behind != position:
                if before != "template":
                    kept.append(Token("<", statement[position].line))
                position = behind
                continue
        if text in CLOSING:
            behind = after_group(statement, position)
            if text == "(" and before in WITH_ARGUMENTS:
                kept.pop()
            elif text != "[" or WORD.match(before):
                kept.append(statement[position])
            position = behind
            continue
        kept.append(statement[position])
        position += 1
    return [token for token in kept if token.text != "template"], is_assigned


def enumerators(body):
    """The names in the braces of an unscoped enum."""
    position, is_name = 1, True
    while position < len(body) - 1:
        token = body[position]
        if is_name and WORD.match(token.text):
            yield token
        is_name = token.text == ","
        position = after_group(body, position) if token.text in CLOSING else position + 1


def type_names(statement, head):
    """What a declaration that begins with class, struct, union or enum declares."""
    words = [token for token in head if token.text not in TYPE_KEYS | {"final", "typedef"}]
    if words and WORD.match(words[0].text):
        following = words[1].text if len(words) > 1 else ""
        # A specialisation, or a member type defined outside.
        if following not in ("<", "::"):
            yield words[0]
    if head[0].text == "enum" and head[1].text not in ("class", "struct"):
        opening = next((i for i, token in enumerate(statement) if token.text == "{"), None)
        if opening is not None:
            yield from enumerators(statement[opening : after_group(statement, opening)])


def declared(statement):
    """The tokens that name what a declaration declares, and whether it is a function."""
    head, _ = declarator(statement)
    while head and head[0].text in ("static", "inline", "constexpr", "const"):
        head = head[1:]
    texts = [token.text for token in head]
    if not head or "operator" in texts:
        # Operators cannot have another name; the same for the same type does not compile.
        return [], False
    if texts[0] in TYPE_KEYS and "(" not in texts and ("{" in texts or len(head) <= 3):
        return list(type_names(statement, head)), False
    if "(" in texts:
        position = texts.index("(")
        # A macro has no type before it, a member a class and ::.
        is_name = position > 1 and WORD.match(texts[position - 1])
        if not is_name or texts[position - 2] == "::" or texts[0] == "friend":
            return [], True
        return [head[position - 1]], True
    found = []
    for position, token in enumerate(head):
        following = texts[position + 1] if position + 1 < len(head) else ";"
        if following in ("{", "[", ",", ";") and WORD.match(token.text) and position > 0:
            if texts[position - 1] != "::":
                found.append(token)
    return found, False


def text_of(tokens):
    return " ".join(token.text for token in tokens).removeprefix(":: ").replace(" :: ", "::")


def alias_of(statement):
    """The name and the meaning of an alias or a using declaration; None for a directive."""
    texts = [token.text for token in statement]
    if "=" in texts:
        position = texts.index("=")
        return statement[1], text_of(statement[position + 1 :])
    if texts[1] in ("namespace", "enum"):
        return None
    return statement[-1], text_of(statement[1:])


def names_of_statement(statement, scope, is_anonymous):
    """The names that a declaration at namespace scope adds, its template header left out."""
    texts = [token.text for token in statement]
    start = 0
    while texts[start : start + 2] == ["template", "<"]:
        start = after_angles(statement, start + 1)
    first = texts[start] if start < len(texts) else ""
    if first in ("using", "namespace"):
        if alias := alias_of(statement[start:]):
            yield Name(alias[0].text, alias[0].line, scope, alias[1], True)
        return
    if TEST_MACRO.match(first) and texts[start + 1 : start + 2] == ["("]:
        words = texts[start + 2 : start + 5]
        if len(words) == 3 and words[1] == ",":
            yield Name(f"{words[0]}.{words[2]}", statement[start].line, scope, None, True)
        return
    tokens, is_function = declared(statement)
    specifiers = {token.text for token in declarator(statement)[0]}
    is_internal = "static" in specifiers or (
        not is_function and specifiers & {"const", "constexpr"} and "inline" not in specifiers
    )
    for token in tokens:
        yield Name(token.text, token.line, scope, None, bool(is_anonymous or is_internal))


def statement_end(tokens, start):
    """The position behind the declaration that begins at `start`, and its tokens without the ;."""
    position = start
    while position < len(tokens):
        text = tokens[position].text
        if text == ";":
            return position + 1, tokens[start:position]
        if text not in CLOSING:
            position += 1
            continue
        behind = after_group(tokens, position)
        if text == "{":
            following = tokens[behind].text if behind < len(tokens) else ""
            head, is_assigned = declarator(tokens[start:position])
            is_body = not is_assigned and any(token.text == "(" for token in head)
            if is_body and following not in (",", "{", ";"):
                return behind, tokens[start:behind]
        position = behind
    return position, tokens[start:position]


def names_of(text):
    """All names that a .cpp file adds to its translation unit, and that matter to others."""
    tokens, macros = tokens_of(text)
    names = [Name(macro, line, None, None, True) for macro, line in macros.items()]
    scopes, position = [], 0
    while position < len(tokens):
        text = tokens[position].text
        if text == "}":
            if not scopes:
                raise Unreadable(f"{tokens[position].line}: }} closes nothing")
            scopes.pop()
            position += 1
            continue
        if text == ";":
            position += 1
            continue
        opened = scope_opened(tokens, position)
        if opened:
            position, scope = opened
            scopes.append(scope)
            continue
        position, statement = statement_end(tokens, position)
        scope = "::".join(filter(None, scopes))
        names.extend(names_of_statement(statement, scope, ANONYMOUS in scopes))
    if scopes:
        raise Unreadable("a namespace is never closed")
    return names


def scope_opened(tokens, position):
    """For a namespace or extern "C": the position behind its {, and its name."""
    texts = [token.text for token in tokens[position : position + 40]]
    if texts[:3] == ["extern", '""', "{"]:
        return position + 3, EXTERN_C
    start = 1 if texts[0] == "inline" else 0
    if texts[start : start + 1] != ["namespace"] or "{" not in texts:
        return None
    brace = texts.index("{")
    if "=" in texts[:brace]:
        return None
    return position + brace + 1, "".join(texts[start + 1 : brace])


def clashing(uses):
    """Those of `uses`, all of one name as (path, Name), that cannot share a translation unit."""
    macros = [use for use in uses if use[1].scope is None]
    for scope in sorted({name.scope for _, name in uses if name.scope is not None}) or [None]:
        group = [use for use in uses if use[1].scope in (scope, None)]
        texts = {name.text for _, name in group}
        if len({path for path, _ in group}) == 1 or not any(name.is_local for _, name in group):
            continue
        if macros or None in texts or len(texts) > 1:
            yield from group


# As in cmake/unity.cmake: a folder of src or of a suite with the folders in it; each store and each
# transport is one.
ROOM = re.compile(r"(?:src|tests/[a-z]+)/(?:(?:stores|transports)/)?[a-z]+")


def room_of(folder):
    """The room that a folder, given from the project's root, belongs to."""
    room = ROOM.match(folder)
    return room.group(0) if room else folder


def room_violations(root, paths):
    """The violations among `paths`, which are all .cpp files of one room."""
    uses, found = defaultdict(list), []
    for path in paths:
        shown = path.relative_to(root).as_posix()
        try:
            for name in names_of(path.read_text(encoding="utf-8")):
                uses[name.name].append((shown, name))
        except Unreadable as problem:
            found.append(f"{shown}:{problem}")
    for name, places in sorted(uses.items()):
        first_lines = {}
        for path, use in clashing(places):
            first_lines.setdefault(path, use.line)
        if first_lines:
            first, *others = (f"{path}:{line}" for path, line in sorted(first_lines.items()))
            found.append(f"{first}: {name}: also in {', '.join(others)}")
    return found


def violations(root):
    """All violations in the tree at `root`, as printable lines, and the number of files seen."""
    rooms = defaultdict(list)
    for folder in ROOTS:
        for path in sorted((root / folder).rglob("*.cpp")):
            rooms[room_of(path.parent.relative_to(root).as_posix())].append(path)
    found = [line for _, paths in sorted(rooms.items()) for line in room_violations(root, paths)]
    return found, sum(len(paths) for paths in rooms.values())


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found, files = violations(Path(sys.argv[1]).resolve())
    if files == 0:
        sys.exit(f"no sources below {sys.argv[1]}")
    print("\n".join(found + [f"{files} files, {len(found)} names that clash"]))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
