#!/usr/bin/env python3
"""Checks the prose of README.md, CHANGELOG.md, CONTRIBUTING.md, docs/, the READMEs of examples/ and tests/peers, the
notebooks, deploy.md as tests/golden has it, and the texts of the program: help, messages, hints, docstrings, and the
scripts of its pages.

    prose.py [FILE ...]      prints the findings of all pages and sources, or of these; exit code 1 if there are any

A finding is an avoided word, a sentence of more than 30 words, or a line of more than 100 columns in Markdown files. Code is not
checked, nor are lines between <!-- not prose: REASON --> and the next empty line. Tables and images may be wider, and cells of
tables may name formats as programs do. In sources, every text of two words or more is checked, and single words with a capital
letter, except raw strings of C++.
"""
import ast
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
GENERATED = "docs/options"  # from the help texts, which are checked in apps/
MOST_WORDS = 30
MOST_COLUMNS = 100

FORMATS = re.compile(r"\bb?float(?:8|16|32|64)\b|\bu?int(?:4|8)\b")
# A pattern, and what to write instead. Patterns that start with a capital match the start of a sentence only.
AVOIDED = [(re.compile(pattern), instead) for pattern, instead in {
    r"\b[Oo]wn errors?\b": "local error",
    r"\ballowances?\b": "limit, requirement, allowed error",
    r"\b[Aa]ll-low lock-?step\b": "all-low comparison",
    r"\banother code\b": "another value",
    r"\b[Ii]nherited\b": "propagated",
    r"\broom\b": "margin, slack, space",
    r"\b[Bb]orders?\b": "format boundary",
    r"\b(?:carriers?|followers?)\b": "pass-through op",
    r"\bby lot\b|\bshar(?:e|ed|es|ing) out\b": "split at random",
    r"\b[Jj]udg(?:e|es|ed|ing)\b": "check, evaluate; held-out set",
    r"(?<![Ee]xit )(?<![Ee]rror )\bcodes\b": "quantized values, integer values",
    r"\btold\b|\bsays? so\b": "name what is printed or reported",
    r"\bmarks\b": "placeholders",
    r"\b[Gg]uardians?\b": "watchdog",
    r"\b[Hh]ostile\b|\bnobody meant well\b": "malformed input, untrusted input",
    r"\b[Pp]lant(?:ed|s)?\b": "injected",
    r"\bstood\b|\bstanding\b": "checkpoint, cached activations",
    r"\b[Ff]lush(?:ed|es)?\b": "underflowed to zero",
    r"\bcut to the end\b": "saturated",
    r"\bsteps? of (?:the|its|their) scales?\b": "scale, quantization step",
    r"\b[Ss]ame top-1\b": "top-1 agreement",
    r"\bsums? in (?:float|FP)16\b|\b(?:float|FP)16 sums?\b": "FP16 accumulation",
    r"\bwritten (?:model|file)\b|\bwhat was written\b": "output model",
    r"\bas (?:it was )?prepared\b": "after graph preparation",
    r"\bon the edge\b": "within noise of the limit",
    r"\b(?:trtexec|Polygraphy|[Oo]ld|[Nn]ew) lines?\b|\blines? of use\b": "command, example",
    r"\bgives\b": "prints, returns, writes",
    r"\btakes (?:an? |the |any )?(?:arrays?|files?|folders?|lists?|models?|names?|networks?|numbers?|options?|samples?|scripts?)\b":
        "reads, accepts",
    r"\botherwise than\b": "differently from",
    r"\b[Tt]hereby\b|\b[Ww]hereof\b|\bof which\b|\bwhose\b": "rewrite",
    r"(?<![Tt]here )\b(?:is|are|was|were) no (?!(?:better|fewer|later|less|longer|more|worse)\b)|\bha(?:s|ve) none\b":
        "is not, has no",
    r"\bhere\b": "name the program or the engine",
    r"\bthere\b(?! (?:is|are|was|were|has|have|must|may|can|will|would|should|an?|any)\b)": "name the place",
    r"\b[Bb]esides?\b": "next to, compared with",
    r"\b[Bb]ut for\b": "except",
    r"[,;] else\b": "otherwise",
    r"Where\b(?!.*\?$)": "If, When",
    r"(?:What|Which)\b(?!.*\?$)": "start with the noun",
}.items()] + [(FORMATS, "FP8, FP16, BF16, FP32, INT8, or code font")]


def pages():
    return [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", ROOT / "tests/peers/README.md",
            *sorted(ROOT.glob("tests/golden/deploy_*.md")),
            *sorted(ROOT.glob("examples/*/README.md")), *sorted(ROOT.glob("examples/notebooks/*.ipynb")),
            *sorted(path for path in (ROOT / "docs").rglob("*.md") if not str(path.relative_to(ROOT)).startswith(GENERATED))]


def sources():
    written = [path for folder in ("apps", "include", "src") for path in (ROOT / folder).rglob("*") if path.suffix in (".cpp", ".h")]
    package = [path for path in (ROOT / "python").rglob("*.py") if path.name != "_calls.py"]  # from apps/table
    return sorted(written + package + list((ROOT / "src/report/html").glob("*.js")))


def cpp_texts(source):
    """(number, text) of each literal; neighbours are one text, as the compiler joins them."""
    tokens = re.compile(r'R"(\w*)\(.*?\)\1"|#include[^\n]*|//[^\n]*|"((?:[^"\\\n]|\\.)*)"|\'(?:[^\'\\]|\\.)\'|\w+|\S', re.DOTALL)
    start, text = 0, ""
    for token in tokens.finditer(source):
        if token[2] is not None:
            start = start if text else source.count("\n", 0, token.start()) + 1
            text += token[2]
        elif text and not token[0].startswith("//"):
            yield start, text.replace("\\n", "\n").replace('\\"', '"')
            text = ""


def js_texts(source):
    """(number, text) of each text; a value in a template is one word."""
    tokens = re.compile(r'//[^\n]*|/\*.*?\*/|(?<=[(,=:])/(?:[^/\\\n]|\\.)+/|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`|\S', re.DOTALL)
    for token in tokens.finditer(source):
        text = token[1] if token[1] is not None else token[2]
        if text is None:
            continue
        number = source.count("\n", 0, token.start()) + 1
        parts, inner = split_template(text) if token[2] is not None else (text, [])
        yield number, parts.replace("\\n", "\n").replace('\\"', '"')
        for code in inner:  # texts inside of values
            yield from ((number, nested) for _, nested in js_texts(code))


def split_template(text):
    """A template without its values, which become one word each, and the values."""
    plain, values, depth, start = "", [], 0, 0
    position = 0
    while position < len(text):
        if depth == 0 and text.startswith("${", position):
            depth, start, position = 1, position + 2, position + 2
            continue
        letter = text[position]
        if depth:
            depth += (letter == "{") - (letter == "}")
            if depth == 0:
                values.append(text[start:position])
                plain += "CODE"
        else:
            plain += letter
        position += 1
    return plain, values


def python_texts(source):
    """(number, text) of each text, docstrings among them; a value in an f-string is one word."""
    tree = ast.parse(source)
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(part.value if isinstance(part, ast.Constant) else "CODE" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.lineno, node.value


def program_findings(text):
    """[what is wrong] with a text of the program, whose lines are paragraphs, or entries "name: text" of a docstring."""
    words = len(re.findall(r"\b[a-z]{2,}\b", text))
    if text.startswith("<") or " " not in text.strip() and not re.fullmatch(r"[A-Z][a-z]+:?", text) or " " in text and words < 1:
        return []
    text = re.sub(r"``.*?``|`.*?`|‹.*?›|(?<!\w)'[^']*'|\{[^{}]*\}", "CODE", text, flags=re.DOTALL)
    found = []
    for passage in re.split(r"\n\s*\n|\n(?=\s*[\w ,]+: )|(?<=[:.])\n", text):
        for sentence in re.split(r"(?<=[.!?])\s+", " ".join(passage.split())):
            found += faults(sentence, formats=False, first=" " in text)  # a word alone may be an operator: Where
    return found


def prose_lines(text):
    """(number, line) of all lines outside code blocks and comments."""
    text = re.sub(r"<!-- not prose: .*?-->.*?\n(?=\n|\Z)", lambda skipped: "\n" * skipped[0].count("\n"), text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", lambda comment: "\n" * comment[0].count("\n"), text, flags=re.DOTALL)
    fence = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fence = not fence
        elif not fence and not line.startswith("    ") and not line.startswith(":::"):
            yield number, line


def passages(lines):
    """(number, kind, text): paragraphs, items of lists, headings and cells of tables, each as one line."""
    start, gathered = 0, ""
    for number, line in [*lines, (0, "")]:
        content = line.strip()
        item = re.match(r"(?:[-*+]|\d+\.) +", content)
        single = content.startswith(("|", "#"))
        if gathered and (not content or item or single):
            yield start, "text", gathered
            gathered = ""
        if content.startswith("|"):
            yield from ((number, "cell", cell.strip()) for cell in re.split(r"(?<!\\)\|", content))
        elif content.startswith("#"):
            yield number, "heading", content.lstrip("# ")
        elif content:
            start = start if gathered else number
            gathered += " " * bool(gathered) + content.removeprefix(item[0] if item else "")


def plain(text):
    """Without notation; code becomes one word that no rule knows."""
    text = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "CODE", text)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"<[^>]+>|\*\*|(?<!\w)\*|\*(?!\w)", "", text).strip()


def sentences(text):
    return [sentence for sentence in re.split(r"(?<=[.!?])[\")]*\s+(?=[\"(]*[A-Z0-9])", text) if sentence]


def findings(text, columns=MOST_COLUMNS):
    """[(line number, what is wrong)]"""
    lines = list(prose_lines(text))
    found = []
    for number, line in lines:
        if len(line) > columns and not line.startswith(("|", "![")) and " " in line.lstrip("-* ")[:columns - 4]:
            found.append((number, f"{len(line)} columns"))
    for number, kind, passage in passages(lines):
        for sentence in sentences(plain(passage)):
            # Titles may start with a question.
            first = kind == "text" and not passage.startswith("[")
            found += [(number, fault) for fault in faults(sentence, formats=kind != "cell", first=first)]
    return sorted(found)


def faults(sentence, formats, first):
    """Of one sentence. `formats`: check their names; `first`: check its first word."""
    length = len(re.findall(r"\w[\w'.,/-]*", sentence))
    if length > MOST_WORDS:
        yield f"{length} words: {sentence[:60]}..."
    for pattern, instead in AVOIDED:
        starts = pattern.pattern.lstrip("(?:")[0].isupper()
        if pattern is FORMATS and not formats or starts and not first:
            continue
        for match in [pattern.match(sentence)] if starts else pattern.finditer(sentence):
            if match:
                yield f"'{match[0]}': {instead}"


def findings_of(path):
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return findings(text)
    if path.suffix == ".ipynb":
        cells = [(number, cell) for number, cell in enumerate(json.loads(text)["cells"], 1) if cell["cell_type"] == "markdown"]
        return [(number, fault) for number, cell in cells for _, fault in findings("".join(cell["source"]), columns=1000)]
    texts = {".py": python_texts, ".js": js_texts}.get(path.suffix, cpp_texts)(text)
    return [(number, fault) for number, each in texts for fault in program_findings(each)]


def main(arguments):
    chosen = [pathlib.Path(name).resolve() for name in arguments] or [*pages(), *sources()]
    found = [f"{path.relative_to(ROOT)}:{number}: {fault}" for path in chosen for number, fault in findings_of(path)]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
