/**
 * How what a function makes, and the steps that it takes, grow with its arguments. DuckDB looks for an interrupt between
 * sets of up to 2 048 rows, and counts no memory that a function takes for its values: what one function does for one set of
 * rows must be small. tests/sql/functions.test.ts checks that each function a statement may call is in exactly one of these.
 */

/** A number made from the arguments, which are counted from 0. */
export type Quantity =
  | { readonly kind: 'number'; readonly value: number }
  /** Bytes of the argument as a text. */
  | { readonly kind: 'bytes'; readonly of: number }
  /** The argument itself: a number. */
  | { readonly kind: 'value'; readonly of: number }
  /** Elements of a list. */
  | { readonly kind: 'length'; readonly of: number }
  /** How often the second of these arguments stands in the first. */
  | { readonly kind: 'matches'; readonly of: number; readonly text: number }
  /** Elements from the first argument to the second one in steps of the third: of numbers or times. */
  | { readonly kind: 'steps' }
  /** Steps of a regular expression for each byte of the text. */
  | { readonly kind: 'pattern'; readonly of: number }
  /** Bytes of all arguments from this one on, together. */
  | { readonly kind: 'others'; readonly from: number }
  /** Arguments from this one on. */
  | { readonly kind: 'count'; readonly from: number }
  /** Values that a format asks for, and the bytes of the widest one beside the arguments. */
  | { readonly kind: 'placeholders' | 'width'; readonly of: number }
  /** The wildcards of a LIKE pattern, less one. */
  | { readonly kind: 'wildcards'; readonly of: number }
  | { readonly kind: 'sum' | 'product' | 'power'; readonly parts: readonly Quantity[] }

export interface SizeRule {
  /** At most so many bytes are made. */
  readonly bytes?: Quantity
  /** Exactly that many, for where the bound above is too much: it may take longer to compute. */
  readonly exactBytes?: Quantity
  /** How much more a constant takes while DuckDB plans with it. */
  readonly constantTimes?: number
  /** At most so many steps are taken, of a nanosecond or two. */
  readonly steps?: Quantity
}

const number = (value: number): Quantity => ({ kind: 'number', value })
const bytes = (of: number): Quantity => ({ kind: 'bytes', of })
const value = (of: number): Quantity => ({ kind: 'value', of })
const length = (of: number): Quantity => ({ kind: 'length', of })
const sum = (...parts: Quantity[]): Quantity => ({ kind: 'sum', parts })
const product = (...parts: Quantity[]): Quantity => ({ kind: 'product', parts })
const power = (...parts: Quantity[]): Quantity => ({ kind: 'power', parts })
const matches = (of: number, text: number): Quantity => ({ kind: 'matches', of, text })

/** A value of a list: a string is 16 bytes and its text. */
const ELEMENT_BYTES = 16

const REPLACE: SizeRule = {
  bytes: sum(bytes(0), product(sum(bytes(0), number(1)), bytes(2))),
  exactBytes: sum(bytes(0), product(matches(0, 1), bytes(2))),
}
const REGEXP_REPLACE: SizeRule = {
  // Each group that the replacement names can hold the whole text.
  bytes: product(sum(bytes(0), number(1)), sum(bytes(2), number(1))),
}
const SPLIT: SizeRule = {
  bytes: product(number(ELEMENT_BYTES + 1), bytes(0)),
  exactBytes: sum(bytes(0), product(number(ELEMENT_BYTES), matches(0, 1))),
}
const PAD: SizeRule = { bytes: product(number(4), value(1)) }
const SERIES: SizeRule = { bytes: product(number(8), { kind: 'steps' }), constantTimes: 8 }
const RESIZE: SizeRule = {
  bytes: product(value(1), sum(number(ELEMENT_BYTES), bytes(2))),
}
/** The least that compiling a pattern or looking at a text takes counts as so many bytes. */
const PATTERN_BYTES = 2000
const PATTERN: SizeRule = {
  steps: product({ kind: 'pattern', of: 1 }, sum(bytes(0), number(PATTERN_BYTES))),
}
const QUADRATIC: SizeRule = { steps: product(number(2), bytes(0), bytes(1)) }
const DAMERAU: SizeRule = {
  bytes: product(number(8), bytes(0), bytes(1)),
  steps: product(number(8), bytes(0), bytes(1)),
}
/** Half a microsecond for each element. */
const ELEMENTS: SizeRule = { steps: product(number(500), length(0)) }
const TWO_LISTS: SizeRule = { steps: product(number(500), sum(length(0), length(1))) }
/** What a lambda makes of each element is limited within it. */
const LAMBDA: SizeRule = { steps: product(number(250), length(0)) }
/** A step of a reduction runs its lambda by itself. */
const REDUCE: SizeRule = { steps: product(number(4000), length(0)) }
const LIKE: SizeRule = { steps: power(bytes(0), { kind: 'wildcards', of: 1 }) }
const JOINED: SizeRule = { bytes: sum(bytes(0), product(length(0), bytes(1))) }
const AGGREGATED: SizeRule = { bytes: sum(bytes(0), product(length(0), bytes(2))) }
const SEPARATED: SizeRule = {
  bytes: sum({ kind: 'others', from: 1 }, product({ kind: 'count', from: 1 }, bytes(0))),
}
/** Each place may stand for all arguments: `{0}{0}`. */
const FORMAT: SizeRule = {
  bytes: sum(
    bytes(0),
    product(
      { kind: 'placeholders', of: 0 },
      sum({ kind: 'width', of: 0 }, { kind: 'others', from: 1 }),
    ),
  ),
}
const MERGED: SizeRule = {
  bytes: product(number(8), sum(bytes(0), bytes(1))),
  steps: product(number(100), sum(bytes(0), bytes(1))),
}

function withRule(rule: SizeRule, names: string): Readonly<Record<string, SizeRule>> {
  return Object.fromEntries(
    names
      .trim()
      .split(/\s+/)
      .map((name) => [name, rule]),
  )
}

/** Functions that make more than their arguments hold, or take more steps. */
export const SIZE_RULES: Readonly<Record<string, SizeRule>> = {
  repeat: { bytes: product(bytes(0), value(1)) },
  bar: { bytes: product(number(4), value(3)) },
  bitstring: { bytes: value(1) },
  equi_width_bins: { bytes: product(number(ELEMENT_BYTES), value(2)) },
  replace: REPLACE,
  regexp_replace: { ...REGEXP_REPLACE, ...PATTERN },
  concat_ws: SEPARATED,
  damerau_levenshtein: DAMERAU,
  json_merge_patch: MERGED,
  ...withRule(JOINED, 'array_to_string array_to_string_comma_default'),
  ...withRule(AGGREGATED, 'list_aggregate list_aggr array_aggregate array_aggr aggregate'),
  ...withRule(FORMAT, 'format printf'),
  ...withRule(PAD, 'lpad rpad'),
  ...withRule(SPLIT, 'split str_split string_split string_to_array'),
  ...withRule(SERIES, 'range generate_series'),
  ...withRule(RESIZE, 'list_resize array_resize'),
  ...withRule(QUADRATIC, 'levenshtein editdist3 jaro_similarity jaro_winkler_similarity'),
  ...withRule(
    { ...PATTERN, bytes: product(number(ELEMENT_BYTES + 1), bytes(0)) },
    `regexp_extract_all regexp_split_to_array regexp_split_to_table string_split_regex
    str_split_regex`,
  ),
  ...withRule({ ...PATTERN, bytes: bytes(0) }, 'regexp_extract'),
  ...withRule(PATTERN, 'regexp_matches regexp_full_match'),
  ...withRule(
    LAMBDA,
    `list_transform array_transform list_apply array_apply apply list_filter array_filter filter`,
  ),
  ...withRule(REDUCE, 'list_reduce array_reduce reduce'),
  ...withRule(
    ELEMENTS,
    `list_sort array_sort list_reverse_sort array_reverse_sort list_grade_up
    array_grade_up grade_up list_distinct array_distinct list_unique array_unique list_where
    array_where list_select array_select map map_from_entries list_zip array_zip`,
  ),
  ...withRule(
    TWO_LISTS,
    `list_intersect array_intersect list_has_any array_has_any list_has_all
    array_has_all`,
  ),
  // The operators are LIKE, ILIKE and GLOB; && and its kin compare lists or ranges.
  ...withRule(
    LIKE,
    `~~ !~~ ~~* !~~* ~~~ like_escape not_like_escape ilike_escape not_ilike_escape`,
  ),
  ...withRule(TWO_LISTS, '&& @> <@'),
}
