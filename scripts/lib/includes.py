#!/usr/bin/env python3
"""Does each source include the headers of what it uses?

    includes.py         says what is missing and what is included for nothing; exit code 1 when there is any
    includes.py --fix   mends standard headers; scripts/format puts the lines in order

Precompiled headers and sources that are compiled together hide what a source forgot, and compilers differ in which
standard header brings which other one: what compiles here may not elsewhere.
Standard headers: looked at are names behind `std::`, and macros of the C headers. A source may rely on the header of its
own name. Own headers: looked at are types and functions that one header alone declares; it must be among those that the
source includes, however deep; so must a header of each library whose namespace is named. Comments and strings are not looked at.
Headers of others must be those of a system, or come with a package that scripts/bootstrap installs or makes: what happens to be
on a developer's machine is not on a fresh one.
"""
import collections
import functools
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("include", "src", "apps", "tests", "bench", "examples")

NAMES = {
    "algorithm": "adjacent_find all_of any_of binary_search clamp copy copy_if copy_n count count_if equal equal_range fill fill_n find "
                 "find_end find_first_of find_if find_if_not for_each generate generate_n includes is_sorted lexicographical_compare "
                 "lower_bound max max_element merge min min_element minmax minmax_element mismatch move_backward next_permutation "
                 "none_of nth_element partial_sort partition push_heap pop_heap make_heap remove_copy_if remove_if replace replace_if "
                 "reverse rotate sample search set_difference set_intersection set_union shuffle sort sort_heap stable_partition "
                 "stable_sort swap_ranges transform unique unique_copy upper_bound",
    "array": "array to_array", "atomic": "atomic atomic_bool memory_order_relaxed memory_order_acquire memory_order_release",
    "bit": "bit_cast bit_ceil bit_floor bit_width countl_zero countr_zero popcount endian has_single_bit rotl",
    "cerrno": (), "cfloat": (), "charconv": "from_chars to_chars from_chars_result chars_format", "chrono": "chrono",
    "climits": (), "cmath": "abs acos acosh asin atan atan2 cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs floor fma fmod frexp hypot "
                            "ilogb isfinite isinf isnan isnormal ldexp lgamma llround log log10 log1p log2 logb lround nearbyint nextafter "
                            "pow remainder rint round scalbn signbit sin sinh sqrt tan tanh tgamma trunc",
    "compare": "strong_ordering partial_ordering weak_ordering", "complex": "complex polar",
    "concepts": "integral floating_point same_as convertible_to invocable derived_from signed_integral unsigned_integral",
    "condition_variable": "condition_variable condition_variable_any cv_status",
    "csignal": "signal raise sig_atomic_t", "cstddef": "size_t ptrdiff_t byte to_integer max_align_t nullptr_t",
    "cstdint": "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t uintptr_t intptr_t",
    "cstdio": "fprintf printf fputs fputc fwrite fread fopen fclose fflush ferror perror FILE snprintf rename remove sscanf",
    "cstdlib": "getenv strtod strtof strtol strtoll strtoul strtoull exit abort system _Exit malloc free atexit",
    "cstring": "memcpy memcmp memmove memset memchr strcmp strerror strlen strncmp strchr strsignal",
    "ctime": "time_t tm time localtime gmtime strftime mktime", "deque": "deque",
    "exception": "exception exception_ptr current_exception rethrow_exception make_exception_ptr uncaught_exceptions terminate "
                 "throw_with_nested rethrow_if_nested",
    "filesystem": "filesystem", "fstream": "ifstream ofstream fstream filebuf",
    "functional": "function bind hash greater less equal_to plus multiplies reference_wrapper ref cref invoke bit_or bit_and "
                  "logical_and logical_or minus identity not_fn",
    "future": "future promise async packaged_task launch", "initializer_list": "initializer_list",
    "iomanip": "setprecision setw setfill hexfloat", "ios": (), "iostream": "cout cerr cin clog",
    "istream": "istream getline", "iterator": "back_inserter inserter istreambuf_iterator ostreambuf_iterator istream_iterator distance next prev "
                                              "advance make_move_iterator front_inserter ostream_iterator ssize",
    "limits": "numeric_limits", "list": "list", "locale": "locale", "map": "map multimap",
    "memory": "unique_ptr shared_ptr weak_ptr make_unique make_shared enable_shared_from_this addressof allocator "
              "static_pointer_cast dynamic_pointer_cast default_delete align",
    "mutex": "mutex lock_guard unique_lock scoped_lock once_flag call_once recursive_mutex timed_mutex",
    "new": "bad_alloc nothrow launder", "numbers": "numbers",
    "numeric": "accumulate iota inner_product partial_sum gcd lcm reduce transform_reduce midpoint exclusive_scan inclusive_scan",
    "optional": "optional nullopt make_optional nullopt_t bad_optional_access", "ostream": "ostream endl flush",
    "queue": "queue priority_queue",
    "random": "mt19937 mt19937_64 uniform_int_distribution uniform_real_distribution normal_distribution lognormal_distribution "
              "bernoulli_distribution random_device seed_seq minstd_rand discrete_distribution student_t_distribution",
    "ranges": (), "regex": "regex regex_match regex_search smatch regex_replace regex_error cmatch sregex_iterator",
    "set": "set multiset", "shared_mutex": "shared_mutex shared_lock", "span": "span as_bytes as_writable_bytes dynamic_extent",
    "sstream": "stringstream istringstream ostringstream", "stack": "stack",
    "stdexcept": "runtime_error logic_error invalid_argument out_of_range domain_error length_error overflow_error",
    "stop_token": "stop_token stop_source", "streambuf": "streambuf",
    "string": "string wstring u8string u32string stoi stol stoll stoul stoull stof stod to_string char_traits basic_string u16string",
    "string_view": "string_view basic_string_view", "system_error": "error_code system_error errc make_error_code generic_category system_category",
    "thread": "thread jthread this_thread", "tuple": "tuple tie apply make_tuple tuple_size tuple_size_v tuple_element ignore forward_as_tuple tuple_cat",
    "type_traits": "is_same_v is_same remove_cvref_t remove_cv_t remove_reference_t conditional_t enable_if_t is_integral_v is_floating_point_v "
                   "is_arithmetic_v is_enum_v decay_t is_convertible_v invoke_result_t is_void_v make_unsigned_t make_signed_t true_type "
                   "false_type integral_constant is_trivially_copyable_v underlying_type_t is_unsigned_v is_signed_v is_base_of_v void_t "
                   "is_constructible_v is_copy_constructible_v is_nothrow_move_constructible_v is_constant_evaluated type_identity_t common_type_t "
                   "is_class_v is_pointer_v is_default_constructible_v is_invocable_v is_copy_assignable_v is_move_constructible_v",
    "typeinfo": "type_info", "unordered_map": "unordered_map unordered_multimap", "unordered_set": "unordered_set",
    "utility": "move forward swap pair make_pair exchange in_range index_sequence make_index_sequence as_const cmp_less cmp_greater "
               "piecewise_construct in_place declval integer_sequence to_underlying",
    "variant": "variant visit monostate get_if holds_alternative in_place_type bad_variant_access", "vector": "vector",
}
# What belongs to several headers: any of these will do.
EITHER = {"get": {"tuple", "utility", "array", "variant"}, "swap": {"utility"}, "begin": set(), "end": set(), "size": set(), "data": set(),
          "byte": {"cstddef"}, "hash": {"functional", "string", "string_view"}, "getline": {"string", "istream"}, "size_t": {"cstddef", "cstdint", "cstdio", "cstdlib", "cstring"},
          "nullptr_t": {"cstddef"}, "move": {"utility", "algorithm"}, "less": {"functional", "map", "set"}, "remove": {"algorithm", "cstdio"},
          "abs": {"cmath", "cstdlib"}, "allocator": {"memory"}, "ostream": {"ostream", "iostream", "fstream", "sstream"},
          "istream": {"istream", "iostream", "fstream", "sstream"}, "flush": {"ostream", "iostream"}, "endl": {"ostream", "iostream"},
          "initializer_list": {"initializer_list", "vector", "string", "map", "set"}, "pair": {"utility", "map"}, "nullopt": {"optional"},
          "distance": {"iterator", "vector", "string", "map", "set", "array", "span"}, "next": {"iterator", "vector", "string", "map", "set", "array"},
          "prev": {"iterator", "vector", "string", "map", "set", "array"}, "time": {"ctime"}, "signal": {"csignal"}, "exception": {"exception", "stdexcept"},
          "error_code": {"system_error", "filesystem"}, "advance": {"iterator", "vector", "map", "set"},
          "this_thread": {"thread"}, "stop_token": {"stop_token", "thread"}}
HOMES = {name: {header} for header, names in NAMES.items() for name in (names.split() if names else ())} | {
    name: headers for name, headers in EITHER.items() if headers}
# Used without std::, so that nobody can say what for: never called superfluous.
OPEN = {"cassert", "cerrno", "cfloat", "ios", "climits", "csignal", "cinttypes", "ranges", "cstddef", "cstdint", "ctime", "iterator", "typeinfo",
        "compare", "version", "cstdio", "cstdlib", "cstring", "new", "bitset", "sstream"}
MACROS = {"cerrno": r"\berrno\b", "climits": r"\b(INT_MAX|INT_MIN|CHAR_BIT|LONG_MAX|UINT_MAX|PATH_MAX)\b",
          "cfloat": r"\b(FLT|DBL)_[A-Z_]+\b"}


def code_of(text):
    """Without comments and strings."""
    text = re.sub(r'R"(\w*)\(.*?\)\1"', '""', text, flags=re.DOTALL)
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', '""', text, flags=re.DOTALL)


def included(text):
    return set(re.findall(r"^\s*#\s*include <([a-z_]+)>", text, re.MULTILINE))


def own_header(path, text):
    """The header of the same name, if the source includes it."""
    for name in re.findall(r'^#include "([^"]+)"', text, re.MULTILINE):
        if pathlib.Path(name).stem in (path.stem, path.stem.removesuffix("_test")):
            for base in (ROOT / "include", ROOT / "src", ROOT / "apps", ROOT / "apps/vernier", path.parent, ROOT / "tests/support"):
                if path.suffix == ".cpp" and (base / name).exists():
                    return base / name
    return None


def faults(path):
    """(headers that are missing, headers that are included for nothing)"""
    text = path.read_text(encoding="utf-8")
    code = code_of(text)
    here = included(text)
    header = own_header(path, text)
    there = included(header.read_text(encoding="utf-8")) if header else set()
    used = set(re.findall(r"\bstd::(?:ranges::)?(\w+)", code))
    missing = set()
    for name in used & HOMES.keys():
        homes = HOMES[name]
        if not homes & (here | there):
            missing.add(sorted(homes & NAMES.keys(), key=lambda h: (name not in NAMES[h], h))[0] if len(homes) > 1 else next(iter(homes)))
    for needed, pattern in MACROS.items():
        if re.search(pattern, code) and needed not in here | there:
            missing.add(needed)
    superfluous = {h for h in here - OPEN if h in NAMES and not any(h in HOMES.get(name, ()) for name in used)}
    return missing, superfluous


def mend(path, missing, superfluous):
    text = path.read_text(encoding="utf-8")
    for header in superfluous:
        text = re.sub(rf"^#include <{header}>\n", "", text, count=1, flags=re.MULTILINE)
    lines = "".join(f"#include <{header}>\n" for header in sorted(missing))
    blocks = list(re.finditer(r"(?:^#include <[a-z_]+>\n)+", text, re.MULTILINE))
    if blocks:
        at = blocks[0].start()
        text = text[:at] + lines + text[at:]
    elif lines:
        quoted = list(re.finditer(r'^#include [<"][^>"]+[>"]\n', text, re.MULTILINE))
        if path.suffix == ".cpp" and quoted and own_header(path, text):
            at = quoted[0].end()
            text = text[:at] + "\n" + lines + text[at:]
        elif quoted:
            at = quoted[0].start()
            text = text[:at] + lines + "\n" + text[at:]
        else:
            at = text.index("#pragma once\n") + len("#pragma once\n")
            text = text[:at] + "\n" + lines + text[at:]
    path.write_text(text, encoding="utf-8")


BASES = [ROOT / "include", ROOT / "src", ROOT / "apps", ROOT / "apps/vernier", ROOT / "apps/python", ROOT / "tests/support", ROOT / "tests", ROOT]
# namespace of a library: how its headers begin. A forward declaration is enough for what is only passed on.
LIBRARIES = {"CLI": "CLI/", "fmt": "fmt/", "onnx": "onnx/", "simdjson": "simdjson", "nlohmann": "nlohmann/", "testing": "gtest/"}
# How headers of others begin: what brings them, as scripts/bootstrap calls it.
BROUGHT = {"CLI/": "libcli11-dev", "benchmark/": "libbenchmark-dev", "fmt/": "libfmt-dev", "google/protobuf/": "libprotobuf-dev",
           "gtest/": "libgtest-dev", "hwy/": "libhwy-dev", "nanobind/": "nanobind", "nlohmann/": "nlohmann-json3-dev", "onnx/": "onnx",
           "onnxruntime_": "onnxruntime",
           "openssl/": "libssl-dev", "simdjson.h": "libsimdjson-dev", "spdlog/": "libspdlog-dev", "stb_image": "libstb-dev",
           "utf8proc.h": "libutf8proc-dev", "yaml-cpp/": "libyaml-cpp-dev", "zip.h": "libzip-dev"}
SYSTEM = re.compile(r"(cxxabi|execinfo|sys/\w+|dlfcn|fcntl|glob|malloc|math|poll|pthread|regex|sched|spawn|stdint|stdio|stdlib|string|time|unistd)\.h|[a-z_]+")
OPTIONAL = {"mpi.h"}  # behind a look whether it is there
PASSED_ON = re.compile(r"\b\w+::[A-Z]\w*\s*[&*]|\b(?:vernier|testing)::testing\b|namespace [\w:]*testing")
TYPE = re.compile(r"^(?:class|struct|enum class)(?: VERNIER_API| \[\[\w+\]\])? (\w+)\b(?!;)|^using (\w+) =", re.MULTILINE)
FUNCTION = re.compile(r"^(?:\[\[nodiscard\]\] )?[\w:<>,\s&*]+?[\s&*]([a-z0-9]+(?:_[a-z0-9]+)+)\(", re.MULTILINE)


@functools.cache
def text_of(path):
    return code_of(path.read_text(encoding="utf-8"))


@functools.cache
def own_includes(path):
    """What it includes of ours."""
    found = set()
    for name in re.findall(r'^#include ["<]([^">]+)[">]', path.read_text(encoding="utf-8"), re.MULTILINE):
        found |= {(base / name).resolve() for base in (path.parent, *BASES) if (base / name).is_file()}
    return found


def all_included(path):
    reached, open_ones = {path}, [path]
    while open_ones:
        new = own_includes(open_ones.pop()) - reached
        reached |= new
        open_ones += new
    return reached


@functools.cache
def header_of():
    """name: the one header that declares it"""
    places = collections.defaultdict(set)
    for folder in ("include", "src", "apps", "tests"):
        for path in (ROOT / folder).rglob("*.h"):
            for match in TYPE.finditer(text_of(path)):
                places[match[1] or match[2]].add(path)
            for match in FUNCTION.finditer(text_of(path)):
                places[match[1]].add(path)
    return {name: next(iter(paths)) for name, paths in places.items() if len(paths) == 1}


def forgotten(path):
    """Headers of ours that it uses and does not reach: {header: name}"""
    reached = all_included(path)
    code = re.sub(r"\bstd::[\w:]+|^TEST\w*\(\w+, \w+\)", "", text_of(path), flags=re.MULTILINE)
    used = set(re.findall(r"(?<![.>\w:])([A-Z]\w*[a-z]\w*)\b", code)) | set(re.findall(r"(?<![.>\w:])([a-z]\w*_\w+)\(", code))
    for each in reached:  # what is declared there, indented too, is that
        used -= set(re.findall(r"\b(?:class|struct|enum class|typename|using)(?: VERNIER_API)? (\w+)\b", text_of(each)))
        used -= set(re.findall(r"[{,]\s*(\w+)(?=\s*(?:=[^,}]*)?[,}])", text_of(each)))  # enumerators
    used -= {match[1] for match in FUNCTION.finditer(text_of(path))} | set(re.findall(r"\b(\w+)(?: = \[|[,)])", code))
    return {header_of()[name]: name for name in sorted(used & header_of().keys()) if header_of()[name] not in reached}


def forgotten_libraries(path):
    code = PASSED_ON.sub("", text_of(path))
    named = {name for name in LIBRARIES if re.search(rf"(?<![\w:]){name}::", code)}
    headers = [header for each in all_included(path)
               for header in re.findall(r"^#include <([^>]+)>", each.read_text(encoding="utf-8"), re.MULTILINE)]
    return {name for name in named if not any(header.startswith(LIBRARIES[name]) for header in headers)}


def not_brought(path):
    """Headers of others that no step of scripts/bootstrap brings."""
    names = re.findall(r"^\s*#\s*include <([^>]+)>", path.read_text(encoding="utf-8"), re.MULTILINE)
    return [name for name in names
            if not SYSTEM.fullmatch(name) and name not in OPTIONAL and not any(name.startswith(begin) for begin in BROUGHT)]


def main(arguments):
    found = 0
    bootstrap = "".join(file.read_text(encoding="utf-8")
                        for file in (ROOT / "scripts/bootstrap", *sorted((ROOT / "scripts").glob("requirements*.in"))))
    for package in BROUGHT.values():
        if not re.search(rf"(?<![\w-]){re.escape(package)}(?![\w-])", bootstrap):
            found += 1
            print(f"scripts/bootstrap: does not bring {package}, of which sources include headers")
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in (".h", ".cpp"):
                continue
            missing, superfluous = faults(path)
            for header, name in forgotten(path).items():
                found += 1
                print(f"{path.relative_to(ROOT)}: does not include {header.relative_to(ROOT)}, of which it uses {name}")
            for name in not_brought(path):
                found += 1
                print(f"{path.relative_to(ROOT)}: includes <{name}>, which no package of scripts/bootstrap brings")
            for name in sorted(forgotten_libraries(path)):
                found += 1
                print(f"{path.relative_to(ROOT)}: does not include <{LIBRARIES[name]}...>, of which it uses {name}::")
            if not missing and not superfluous:
                continue
            found += 1
            if arguments == ["--fix"]:
                mend(path, missing, superfluous)
                continue
            name = path.relative_to(ROOT)
            if missing:
                print(f"{name}: does not include {', '.join(sorted(missing))}")
            if superfluous:
                print(f"{name}: includes {', '.join(sorted(superfluous))} for nothing")
    return 1 if found and arguments != ["--fix"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
