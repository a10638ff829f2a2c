// Names from files inside commands, programs and Markdown: quoted so that they mean themselves, whatever they hold.
#pragma once

#include <string>
#include <string_view>

namespace vernier {

/// One word for a POSIX shell. Left bare when it holds only letters, digits and _ - . / : , + @ % =; else in single
/// quotes. Control characters and bytes that are not UTF-8 need $'...', which bash and zsh (not every sh) understand.
std::string shell_quote(std::string_view word);

/// A Python string literal in double quotes.
std::string python_quote(std::string_view text);

/// A regular expression (Python's syntax) that matches exactly `name`, anchored at both ends.
std::string exact_regex(std::string_view name);

/// `code` as a fenced Markdown block. The fence is longer than any run of backticks inside.
std::string code_block(std::string_view language, std::string_view code);

/// `text` as inline code; control characters are escaped, backticks need a longer fence.
std::string inline_code(std::string_view text);

/// `text` as plain Markdown: characters with a meaning there (in names with * or < for example) are escaped.
std::string markdown_text(std::string_view text);

}  // namespace vernier
