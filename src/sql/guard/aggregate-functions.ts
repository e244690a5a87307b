/** The aggregate functions of DuckDB 1.5: one value from many rows. Window functions are not among them. */
const NAMES = `
  any_value approx_count_distinct approx_quantile approx_top_k arbitrary arg_max arg_max_null
  arg_max_nulls_last arg_min arg_min_null arg_min_nulls_last argmax argmin array_agg avg bit_and
  bit_or bit_xor bitstring_agg bool_and bool_or corr count count_if count_star countif covar_pop
  covar_samp entropy favg first fsum group_concat histogram histogram_exact kahan_sum kurtosis
  kurtosis_pop last list listagg mad max max_by mean median min min_by mode product quantile
  quantile_cont quantile_disc regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope
  regr_sxx regr_sxy regr_syy reservoir_quantile sem skewness stddev stddev_pop stddev_samp
  string_agg sum sum_no_overflow sumkahan var_pop var_samp variance
`

const AGGREGATE_FUNCTIONS: ReadonlySet<string> = new Set(NAMES.trim().split(/\s+/))

const WINDOW_FUNCTIONS: ReadonlySet<string> = new Set(
  `row_number rank dense_rank rank_dense percent_rank cume_dist ntile lag lead first_value last_value
  nth_value fill`.split(/\s+/),
)

export function isAggregateFunction(name: string): boolean {
  return AGGREGATE_FUNCTIONS.has(name.toLowerCase())
}

export function isWindowFunction(name: string): boolean {
  return WINDOW_FUNCTIONS.has(name.toLowerCase())
}
