import { isNode, type TreeNode, type TreeValue, textValue, walk } from '../ast/select-ast.ts'

/**
 * Scalar functions and macros of DuckDB 1.5 that a statement may call: those that only compute from
 * their arguments. Left out are functions that read settings, variables, sequences, the session or
 * the catalog, that sleep or write a log, that run SQL given as text, and DuckDB's internal ones.
 * tests/sql/functions.test.ts compares the list with the engine's, so that no new version adds a
 * function unnoticed.
 */
const SCALAR_NAMES = `
  !__postfix abs acos acosh add age aggregate ago alias apply array_aggr array_aggregate array_append
  array_apply array_cat array_concat array_contains array_cosine_distance array_cosine_similarity
  array_cross_product array_distance array_distinct array_dot_product array_extract array_filter
  array_grade_up array_has array_has_all array_has_any array_indexof array_inner_product
  array_intersect array_length array_negative_dot_product array_negative_inner_product
  array_pop_back array_pop_front array_position array_prepend array_push_back array_push_front
  array_reduce array_resize array_reverse array_reverse_sort array_select array_slice array_sort
  array_to_json array_to_string array_to_string_comma_default array_transform array_unique
  array_value array_where array_zip ascii asin asinh atan atan2 atanh bar base64 bin bit_count
  bit_length bit_position bitstring cardinality cbrt ceil ceiling century char_length
  character_length chr concat concat_ws contains cos cosh cot current_date current_localtime
  current_localtimestamp current_schema current_user damerau_levenshtein date_add date_diff
  date_part date_sub date_trunc datediff datepart datesub datetrunc day dayname dayofmonth
  dayofweek dayofyear days_in_month decade decode degrees divide editdist3 element_at encode
  ends_with enum_code enum_first enum_last enum_range enum_range_boundary epoch epoch_ms epoch_ns
  epoch_us equi_width_bins era error even exp factorial fdiv filter flatten floor fmod format
  format_bytes formatreadabledecimalsize formatreadablesize from_base64 from_binary from_hex
  from_json from_json_strict gamma gcd gen_random_uuid generate_series generate_subscripts geomean
  geometric_mean get_bit get_current_time get_current_timestamp grade_up greatest
  greatest_common_divisor hamming hash hex hour ilike_escape instr isfinite isinf isnan isodow
  isoyear jaccard jaro_similarity jaro_winkler_similarity json json_array json_array_length
  json_contains json_exists json_extract json_extract_path json_extract_path_text
  json_extract_string json_group_array json_group_object json_group_structure json_keys
  json_merge_patch json_object json_pretty json_quote json_structure json_transform
  json_transform_strict json_type json_valid json_value julian last_day lcase lcm least
  least_common_multiple left left_grapheme len length length_grapheme levenshtein lgamma
  like_escape list_aggr list_aggregate list_any_value list_append list_apply
  list_approx_count_distinct list_avg list_bit_and list_bit_or list_bit_xor list_bool_and
  list_bool_or list_cat list_concat list_contains list_cosine_distance list_cosine_similarity
  list_count list_distance list_distinct list_dot_product list_element list_entropy list_extract
  list_filter list_first list_grade_up list_has list_has_all list_has_any list_histogram
  list_indexof list_inner_product list_intersect list_kurtosis list_kurtosis_pop list_last
  list_mad list_max list_median list_min list_mode list_negative_dot_product
  list_negative_inner_product list_pack list_position list_prepend list_product list_reduce
  list_resize list_reverse list_reverse_sort list_select list_sem list_skewness list_slice
  list_sort list_stddev_pop list_stddev_samp list_string_agg list_sum list_transform list_unique
  list_value list_var_pop list_var_samp list_where list_zip ln log log10 log2 lower lpad ltrim
  make_date make_time make_timestamp make_timestamp_ms make_timestamp_ns make_timestamptz map
  map_concat map_contains map_contains_entry map_contains_value map_entries map_extract
  map_extract_value map_from_entries map_keys map_values md5 md5_number md5_number_lower
  md5_number_upper microsecond millennium millisecond minute mismatches mod month monthname
  multiply nanosecond nextafter nfc_normalize normalized_interval not_ilike_escape not_like_escape
  now nullif octet_length ord parse_dirname parse_dirpath parse_filename parse_formatted_bytes
  parse_path pi position pow power prefix printf quarter radians random range reduce regexp_escape
  regexp_extract regexp_extract_all regexp_full_match regexp_matches regexp_replace
  regexp_split_to_array regexp_split_to_table repeat replace reverse right right_grapheme round
  round_even roundbankers row row_to_json rpad rtrim second set_bit sha1 sha256 sign signbit sin
  sinh split split_part sqrt starts_with str_split str_split_regex strftime string_split
  string_split_regex string_to_array strip_accents strlen strpos strptime struct_concat
  struct_contains struct_extract struct_extract_at struct_has struct_indexof struct_insert
  struct_keys struct_pack struct_position struct_update struct_values substr substring
  substring_grapheme subtract suffix switch tan tanh time_bucket timetz_byte_comparable timezone
  timezone_hour timezone_minute to_base to_base64 to_binary to_centuries to_days to_decades to_hex
  to_hours to_json to_microseconds to_millennia to_milliseconds to_minutes to_months to_quarters
  to_seconds to_timestamp to_weeks to_years today transaction_timestamp translate trim trunc
  try_strptime typeof ucase unbin unhex unicode union_extract union_tag union_value unpivot_list
  upper url_decode url_encode user uuid uuid_extract_timestamp uuid_extract_version uuidv4 uuidv7
  version wavg week weekday weekofyear weighted_avg xor year yearweek
`

const SCALAR_FUNCTIONS: ReadonlySet<string> = new Set(SCALAR_NAMES.trim().split(/\s+/))

export function isScalarFunction(name: string): boolean {
  return SCALAR_FUNCTIONS.has(name.toLowerCase())
}

/** Aggregates of DuckDB 1.5, without window functions. */
const AGGREGATE_NAMES = `
  any_value approx_count_distinct approx_quantile approx_top_k arbitrary arg_max arg_max_null
  arg_max_nulls_last arg_min arg_min_null arg_min_nulls_last argmax argmin array_agg avg bit_and
  bit_or bit_xor bitstring_agg bool_and bool_or corr count count_if count_star countif covar_pop
  covar_samp entropy favg first fsum group_concat histogram histogram_exact kahan_sum kurtosis
  kurtosis_pop last list listagg mad max max_by mean median min min_by mode product quantile
  quantile_cont quantile_disc regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope
  regr_sxx regr_sxy regr_syy sem skewness stddev stddev_pop stddev_samp
  string_agg sum sum_no_overflow sumkahan var_pop var_samp variance
`

const AGGREGATE_FUNCTIONS: ReadonlySet<string> = new Set(AGGREGATE_NAMES.trim().split(/\s+/))

/** For suggestions. */
export const FUNCTION_NAMES: readonly string[] = [...SCALAR_FUNCTIONS, ...AGGREGATE_FUNCTIONS]

const WINDOW_FUNCTIONS: ReadonlySet<string> = new Set(
  `row_number rank dense_rank rank_dense percent_rank cume_dist ntile lag lead first_value last_value
  nth_value fill`.split(/\s+/),
)

export function isAggregateFunction(name: string): boolean {
  return AGGREGATE_FUNCTIONS.has(name.toLowerCase())
}

export function isAggregate({ class: kind, function_name: name }: TreeNode): boolean {
  return kind === 'FUNCTION' && isAggregateFunction(textValue(name))
}

export function isWindowFunction(name: string): boolean {
  return WINDOW_FUNCTIONS.has(name.toLowerCase())
}

/** Always the same for the same arguments, within one statement (clock, session), or never. */
export type Stability = 'consistent' | 'within_query' | 'volatile'

/** By `duckdb_functions()` of DuckDB 1.5, in their least stable form. A test compares. */
const VOLATILE_FUNCTIONS: ReadonlySet<string> = new Set(
  'error gen_random_uuid json_group_object random uuid uuidv4 uuidv7'.split(' '),
)

const QUERY_FUNCTIONS: ReadonlySet<string> = new Set(
  `ago current_date current_schema get_current_time get_current_timestamp now today
  transaction_timestamp`.split(/\s+/),
)

/** DuckDB calls these consistent although they read the clock; `age` does so with one argument. */
export const CLOCK_FUNCTIONS: ReadonlySet<string> = new Set(
  'age current_localtime current_localtimestamp'.split(' '),
)

/** @param name a function or operator. One that statements may not call counts as volatile */
export function stabilityOfFunction(name: string): Stability {
  const key = name.toLowerCase()
  if (VOLATILE_FUNCTIONS.has(key)) return 'volatile'
  if (QUERY_FUNCTIONS.has(key) || CLOCK_FUNCTIONS.has(key)) return 'within_query'
  const isOperator = !/[\p{L}\p{N}]/u.test(key)
  // Eider's own functions, which do not change values.
  if (/^eider_steps(_total)?$/.test(key)) return 'consistent'
  const isKnown = isScalarFunction(key) || isAggregateFunction(key) || isWindowFunction(key)
  return isOperator || isKnown ? 'consistent' : 'volatile'
}

/** The stability of the least stable function, including subqueries. Columns count as stable. */
export function stabilityOf(expression: TreeValue): Stability {
  let least: Stability = 'consistent'
  for (const { class: kind, function_name: name } of walk(expression)) {
    if (kind !== 'FUNCTION' && kind !== 'WINDOW') continue
    const stability = stabilityOfFunction(textValue(name))
    if (stability === 'volatile') return stability
    if (stability === 'within_query') least = stability
  }
  return least
}

/**
 * Whether two evaluations may give different values, so it must be evaluated exactly once per row.
 */
export function isVolatile(expression: TreeValue): boolean {
  return stabilityOf(expression) === 'volatile'
}

/** `current_date` and the like appear as column names. */
const CHANGING = new Set(['SUBQUERY', 'PARAMETER', 'COLUMN_REF', 'STAR', 'POSITIONAL_REFERENCE'])

/** No FROM, nested query or parameter; no clock, session or chance. */
export function isConstantQuery(query: TreeNode): boolean {
  if (query.type !== 'SELECT_NODE') return false
  for (const node of walk(query)) {
    const isSource = isNode(node.from_table) && node.from_table.type !== 'EMPTY'
    if (isSource || CHANGING.has(textValue(node.class))) return false
    if (node !== query && node.type === 'SELECT_NODE') return false
  }
  return stabilityOf(query) === 'consistent'
}
