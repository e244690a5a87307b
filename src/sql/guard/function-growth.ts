/** How the value of each function that a statement may call grows with its arguments. */
import { SIZE_RULES } from './size-rules.ts'

/**
 * `fixed`: a number, a date, a part of an argument that is not copied. `rule`: as `SIZE_RULES` says. A number: at most so many
 * bytes for each byte of the arguments.
 */
export type Growth = number | 'fixed' | 'rule'

const LINEAR_NAMES: readonly (readonly [number, string])[] = [
  [
    1,
    `|| concat lower upper lcase ucase reverse trim ltrim rtrim left right substr substring
    substring_grapheme left_grapheme right_grapheme regexp_extract error alias json json_extract
    json_extract_path json_extract_path_text json_extract_string json_value json_merge_patch
    list_concat list_cat array_concat array_cat list_slice array_slice list_append array_append
    list_prepend array_prepend array_push_back array_push_front array_pop_back array_pop_front
    list_reverse array_reverse list_filter array_filter filter list_where array_where list_select
    array_select list_sort array_sort list_reverse_sort array_reverse_sort list_distinct array_distinct
    list_intersect array_intersect flatten list_transform array_transform list_apply array_apply apply
    map_concat map_entries map_keys map_values map_extract element_at map_from_entries map
    struct_concat struct_insert struct_update struct_values struct_keys split_part unnest
    parse_dirname parse_dirpath parse_filename set_bit trunc nullif greatest least union_value
    array_cross_product array_value list_string_agg list_histogram list_mode list_any_value list_first list_last list_min list_max`,
  ],
  [
    2,
    `list_value list_pack struct_pack row to_base64 base64 hex to_hex unhex from_hex encode decode regexp_escape
    list_zip array_zip list_grade_up array_grade_up grade_up
    generate_subscripts unpivot_list json_array json_object json_transform json_transform_strict
    from_json from_json_strict json_structure from_base64 from_binary unbin url_decode`,
  ],
  [4, `translate strip_accents nfc_normalize url_encode to_binary bin json_pretty`],
  [8, `to_json array_to_json row_to_json json_quote`],
  [16, 'strftime'],
  [17, 'json_keys parse_path'],
]

const LINEAR: ReadonlyMap<string, number> = new Map(
  LINEAR_NAMES.flatMap(([factor, names]) => {
    return names
      .trim()
      .split(/\s+/)
      .map((name) => [name, factor] as const)
  }),
)

/** Those that make a number, a date or another value of a few bytes, whatever they are given. */
const FIXED_NAMES = `
  !__postfix abs acos acosh add age ago array_contains array_cosine_distance
  array_cosine_similarity array_distance array_dot_product array_extract array_has array_indexof
  array_inner_product array_length array_negative_dot_product array_negative_inner_product
  array_position ascii asin asinh atan atan2 atanh bit_count bit_length bit_position cardinality
  cbrt ceil ceiling century char_length character_length chr contains cos cosh cot current_date
  current_localtime current_localtimestamp current_schema current_user date_add date_diff
  date_part date_sub date_trunc datediff datepart datesub datetrunc day dayname dayofmonth
  dayofweek dayofyear days_in_month decade degrees divide ends_with enum_code enum_first enum_last
  enum_range enum_range_boundary epoch epoch_ms epoch_ns epoch_us era even exp factorial fdiv
  floor fmod format_bytes formatreadabledecimalsize formatreadablesize gamma gcd gen_random_uuid
  geomean geometric_mean get_bit get_current_time get_current_timestamp greatest_common_divisor
  hamming hash hour instr isfinite isinf isnan isodow isoyear jaccard json_array_length
  json_contains json_exists json_group_array json_group_object json_group_structure json_type
  json_valid julian last_day lcm least_common_multiple len length length_grapheme lgamma
  list_approx_count_distinct list_avg list_bit_and list_bit_or list_bit_xor list_bool_and
  list_bool_or list_contains list_cosine_distance list_cosine_similarity list_count list_distance
  list_dot_product list_element list_entropy list_extract list_has list_indexof list_inner_product
  list_kurtosis list_kurtosis_pop list_mad list_median list_negative_dot_product
  list_negative_inner_product list_position list_product list_sem list_skewness list_stddev_pop
  list_stddev_samp list_sum list_var_pop list_var_samp ln log log10 log2 make_date make_time
  make_timestamp make_timestamp_ms make_timestamp_ns make_timestamptz map_contains
  map_contains_entry map_contains_value map_extract_value md5 md5_number md5_number_lower
  md5_number_upper microsecond millennium millisecond minute mismatches mod month monthname
  multiply nanosecond nextafter normalized_interval now octet_length ord parse_formatted_bytes pi
  position pow power prefix quarter radians random round round_even roundbankers second sha1
  sha256 sign signbit sin sinh sqrt starts_with strlen strpos strptime struct_contains
  struct_extract struct_extract_at struct_has struct_indexof struct_position subtract suffix
  switch tan tanh time_bucket timetz_byte_comparable timezone timezone_hour timezone_minute
  to_base to_centuries to_days to_decades to_hours to_microseconds to_millennia to_milliseconds
  to_minutes to_months to_quarters to_seconds to_timestamp to_weeks to_years today
  transaction_timestamp try_strptime typeof unicode union_extract union_tag user uuid
  uuid_extract_timestamp uuid_extract_version uuidv4 uuidv7 version wavg week weekday weekofyear
  weighted_avg xor year yearweek
`

const FIXED: ReadonlySet<string> = new Set(FIXED_NAMES.trim().split(/\s+/))

/** Operators that no list names, aggregates and window functions are `fixed`: DuckDB counts the memory of their states. */
export function growthOf(name: string): Growth {
  const key = name.toLowerCase()
  if (Object.hasOwn(SIZE_RULES, key)) return 'rule'
  return LINEAR.get(key) ?? 'fixed'
}

/** False for a function that nobody has looked at. */
export function isClassified(name: string): boolean {
  const key = name.toLowerCase()
  return Object.hasOwn(SIZE_RULES, key) || LINEAR.has(key) || FIXED.has(key)
}
