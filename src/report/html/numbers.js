// How numbers are written. The rules are those of src/report/text/numbers.h and src/base/counts.h, and one table tests both:
// tests/golden/numbers.json.

/** The report writes what JSON cannot as words. */
function number(value) {
  if (value === "inf") return Infinity;
  if (value === "-inf") return -Infinity;
  return typeof value === "number" ? value : NaN;
}
function has(value) { return value !== undefined && value !== null && value !== "nan"; }
/** As many digits behind the point; of two that are equally near the even one, as in the text. */
function fixed(v, digits) {
  const text = v.toFixed(digits), size = Math.abs(v);
  if (!(size < 1e15) || !/^50*$/.test(size.toFixed(60).split(".")[1].slice(digits))) return text;
  const down = (Math.sign(v) * Math.floor(size * 10 ** digits) / 10 ** digits).toFixed(digits);
  return Number(down[down.length - 1]) % 2 ? text : down;
}
function db(value) {
  if (!has(value)) return "\u2013";
  const v = number(value);
  if (v === Infinity) return "exact";
  return v === -Infinity ? "not finite" : fixed(v, 1).replace(/^-0\.0$/, "0.0");
}
/** `text` without line breaks between a figure and its unit, as take_word() of src/base/layout.h. */
function withUnits(text) {
  return text.replace(/(\d) (?=(?:%|dB|ms|us|s|min|h|k|[MG]?B|kB|M|G|points|bits|times)(?!\w))/g, "$1\u00a0");
}
/** With its unit, where it is a number. */
function decibels(value) { return db(value) + (has(value) && Number.isFinite(number(value)) ? " dB" : ""); }
function plain(value, digits = 4) {
  if (!has(value)) return "\u2013";
  const v = number(value);
  if (!Number.isFinite(v)) return v > 0 ? "inf" : "-inf";
  if (v !== 0 && (Math.abs(v) >= 1e6 || Math.abs(v) < 1e-4)) return v.toExponential(2);
  return String(Number(v.toPrecision(digits)));
}
function percent(share) {
  if (!has(share)) return "\u2013";
  return share > 0 && share < 0.0005 ? "<0.1 %" : fixed(100 * share, 1) + " %";
}
/** In a column whose heading has the unit. */
function percentAlone(share) { return percent(share).replace(" %", ""); }
/** Cosine cut after six digits: 1 means no difference. */
function cosine(value) {
  const v = number(value);
  if (!Number.isFinite(v)) return "\u2013";
  return v > 0.9999995 && v < 1 ? ">0.999999" : (Math.trunc(v * 1e6) / 1e6).toFixed(6);
}
function times(factor) {
  if (factor >= 1e9) return "> 1e+09x";
  if (factor >= 999.5) return String(Number(factor.toPrecision(3))) + "x";
  let digits = factor < 9.995 ? 2 : 1, text = fixed(factor, digits);
  while (digits < 6 && factor !== 1 && Number(text) === 1) text = fixed(factor, ++digits);
  return text + "x";
}
function milliseconds(ms) { return fixed(ms, ms < 9.995 ? 2 : 1); }
/** [1.23, "M"]: in the largest unit that leaves at least 1 before the point. */
function scaled(value) {
  const units = ["k", "M", "G", "T", "P", "E"];
  let at = 0;
  for (value /= 1000; value >= 999.5 && at + 1 < units.length; ++at) value /= 1000;
  return [value, units[at]];
}
function count(value) {
  if (!has(value)) return "\u2013";
  if (value < 100000) return value.toLocaleString("en-US");
  const [v, unit] = scaled(value);
  return fixed(v, v < 9.995 ? 2 : v < 99.95 ? 1 : 0) + " " + unit;
}
function bytes(value) {
  if (value < 1000) return value + " B";
  const [v, unit] = scaled(value);
  return `${fixed(v, v < 99.95 ? 1 : 0)} ${unit}B`;
}
const SIZES = [[1e12, "T"], [1e9, "G"], [1e6, "M"]];
/** How a column writes its numbers: all in the unit that suits the largest, which stands in the heading. */
function columnOf(values) {
  const most = Math.max(0, ...values.filter(has)), [size, unit] = SIZES.find(([size]) => most >= size) || [1, ""];
  const text = v => size === 1 ? v.toLocaleString("en-US") : v && v < size / 100 ? "<0.01" : (v / size).toFixed(most >= 100 * size ? 0 : 2);
  return {unit, text: value => has(value) ? text(value) : ""};
}
function many(n, noun) { return count(n) + " " + noun + (n === 1 ? "" : "s"); }
