-- SELECTs without a knowledge base, one a line: what the SQL endpoint answers is what DuckDB answers.
SELECT 1
SELECT 1 AS a, 'x' AS b, NULL AS c, 1.5 AS d, true AS e, 1e10 AS f, -7 AS g
SELECT * FROM files.t ORDER BY a LIMIT 3
FROM files.t SELECT a WHERE a < 3 ORDER BY a
SELECT a.a, b.a FROM files.t a JOIN files.t b ON a.a = b.a + 1 WHERE a.a < 4 ORDER BY 1
SELECT * FROM files.t a JOIN files.t b USING (id) WHERE a.a < 2 ORDER BY 1
SELECT count(*) FROM files.t a CROSS JOIN files.t b
SELECT a.a FROM files.t a LEFT JOIN (SELECT a FROM files.t WHERE a < 3) b ON a.a = b.a WHERE b.a IS NULL ORDER BY 1 LIMIT 2
SELECT count(*) FROM files.t a SEMI JOIN files.t b ON a.a = b.a - 100
SELECT count(*) FROM files.t a ANTI JOIN files.t b ON a.a = b.a - 100
SELECT t.a, s.x FROM files.t t, LATERAL (SELECT t.a * 2 AS x) s WHERE t.a < 3 ORDER BY 1
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) v(n, s) ORDER BY n
SELECT * FROM range(3) r(i)
SELECT unnest([1, 2, 3]) AS u
SELECT * FROM unnest([1, 2, 3]) u(x)
SELECT generate_series FROM generate_series(1, 3)
WITH x AS (SELECT 1 AS a), y AS (SELECT a + 1 AS b FROM x) SELECT * FROM x, y
WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT sum(n) FROM r
WITH x AS MATERIALIZED (SELECT 1 AS a) SELECT * FROM x
SELECT a FROM files.t WHERE a < 2 UNION SELECT 5 UNION ALL SELECT 5 ORDER BY 1
SELECT a FROM files.t WHERE a < 4 INTERSECT SELECT a FROM files.t WHERE a > 1 ORDER BY 1
SELECT a FROM files.t WHERE a < 4 EXCEPT SELECT a FROM files.t WHERE a > 1 ORDER BY 1
SELECT 1 AS a UNION ALL BY NAME SELECT 2 AS b
SELECT a % 3 AS k, count(*), sum(a), avg(a), min(a), max(a) FROM files.t GROUP BY k ORDER BY k
SELECT a % 3 AS k, count(*) FROM files.t GROUP BY ALL ORDER BY ALL
SELECT a % 3 AS k, count(*) FROM files.t GROUP BY 1 HAVING count(*) > 66 ORDER BY 1
SELECT a % 2 AS x, a % 3 AS y, count(*) FROM files.t GROUP BY ROLLUP (x, y) ORDER BY x NULLS LAST, y NULLS LAST
SELECT a % 2 AS x, a % 3 AS y, count(*) FROM files.t GROUP BY GROUPING SETS ((x), (y)) ORDER BY x NULLS LAST, y NULLS LAST
SELECT count(*) FILTER (WHERE a > 100), count(DISTINCT a % 10) FROM files.t
SELECT list(a ORDER BY a DESC) FROM files.t WHERE a < 4
SELECT string_agg(id, ',' ORDER BY a) FROM files.t WHERE a < 4
SELECT a, row_number() OVER (ORDER BY a DESC) AS rn FROM files.t WHERE a < 3 ORDER BY a
SELECT a, lag(a) OVER (ORDER BY a), lead(a, 2, -1) OVER (ORDER BY a) FROM files.t WHERE a < 4 ORDER BY a
SELECT a, sum(a) OVER (ORDER BY a ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM files.t WHERE a < 4 ORDER BY a
SELECT a, avg(a) OVER w FROM files.t WHERE a < 4 WINDOW w AS (PARTITION BY a % 2) ORDER BY a
SELECT a FROM files.t QUALIFY row_number() OVER (PARTITION BY a % 5 ORDER BY a) = 1 ORDER BY a
SELECT DISTINCT a % 3 AS k FROM files.t ORDER BY k
SELECT DISTINCT ON (a % 3) a % 3 AS k, a FROM files.t ORDER BY k, a
SELECT * EXCLUDE (id) FROM files.t ORDER BY a LIMIT 1
SELECT * REPLACE (a + 1 AS a) FROM files.t ORDER BY a LIMIT 1
SELECT * RENAME (a AS b) FROM files.t ORDER BY b LIMIT 1
SELECT COLUMNS('a') FROM files.t ORDER BY 1 LIMIT 1
SELECT min(COLUMNS(*)) FROM files.t
SELECT CASE WHEN a > 1 THEN 'big' WHEN a = 1 THEN 'one' ELSE 'small' END FROM files.t ORDER BY a LIMIT 3
SELECT CASE a WHEN 1 THEN 'one' END FROM files.t ORDER BY a LIMIT 2
SELECT a BETWEEN 1 AND 3, a NOT BETWEEN 1 AND 3, a IN (1, 2), a NOT IN (1), id LIKE 'd%', id NOT LIKE '%1', id ILIKE 'D1' FROM files.t ORDER BY a LIMIT 3
SELECT a IS NULL, a IS NOT NULL, a IS DISTINCT FROM 1, nullif(a, 1), coalesce(NULL, a) FROM files.t ORDER BY a LIMIT 2
SELECT id SIMILAR TO 'd[0-9]', id ~ '^d1$', regexp_matches(id, '1'), regexp_replace(id, 'd', 'x') FROM files.t ORDER BY a LIMIT 2
SELECT EXISTS (SELECT 1 FROM files.t WHERE a = 5), (SELECT max(a) FROM files.t), 5 IN (SELECT a FROM files.t), 5 > ALL (SELECT a FROM files.t WHERE a < 5)
SELECT (SELECT count(*) FROM files.t u WHERE u.a < t.a) FROM files.t t ORDER BY a LIMIT 3
SELECT [1, 2, 3][2], [1, 2, 3][1:2], {'k': 1, 'v': 'x'}.v, MAP {'a': 1}['a'], struct_pack(a := 1)
SELECT list_transform([1, 2, 3], x -> x + 1), list_filter([1, 2, 3], x -> x > 1), [x * 2 FOR x IN [1, 2, 3] IF x > 1]
SELECT list_reduce([1, 2, 3], (a, b) -> a + b), list_sort([3, 1, 2]), list_contains([1, 2], 2), len([1, 2])
SELECT '{"a": {"b": [1, 2]}}'::JSON->'a'->'b', '{"a": 1}'::JSON->>'a', json_extract('{"a": 5}', '$.a'), json_array_length('[1,2]')
SELECT key, value FROM json_each('{"a": 1, "b": 2}') ORDER BY key
SELECT DATE '2024-02-29' + INTERVAL 1 YEAR, date_trunc('month', TIMESTAMP '2024-05-17 10:11:12'), extract(year FROM DATE '2024-01-01'), date_diff('day', DATE '2024-01-01', DATE '2024-03-01')
SELECT strftime(TIMESTAMP '2024-05-17 10:11:12', '%d.%m.%Y'), age(DATE '2024-03-01', DATE '2024-01-01'), TIME '10:11:12', TIMESTAMP '2024-05-17 10:11:12.123456'
SELECT 1::HUGEINT * 9223372036854775807 * 4, 170141183460469231731687303715884105727, 1.10::DECIMAL(10, 2), 1 / 3, 7 // 2, 7 % 3, 2 ** 10
SELECT upper('a'), lower('B'), length('straße'), substring('hello', 2, 3), 'a' || 'b', concat_ws('-', 1, 2), trim('  x '), replace('aXa', 'X', 'y'), split_part('a-b', '-', 2)
SELECT 'it''s', 'a\b', 'tab	tab', '😀', E'line\nbreak', $$dollar 'quoted'$$
SELECT CAST('5' AS INTEGER), TRY_CAST('x' AS INTEGER), '5'::DOUBLE, 'abc'::BLOB, '\xAA'::BLOB
SELECT uuid() IS NOT NULL, typeof(1), typeof([1]), hash('a') = hash('a'), md5('a')
SELECT * FROM (SELECT a, a % 2 AS k FROM files.t WHERE a < 4) PIVOT (sum(a) FOR k IN (0, 1))
PIVOT (SELECT a, a % 2 AS k FROM files.t WHERE a < 4) ON k IN (0, 1) USING sum(a)
UNPIVOT (SELECT 1 AS x, 2 AS y) ON x, y INTO NAME n VALUE v
SELECT * FROM (SELECT 1 AS t, 'a' AS v UNION ALL SELECT 5, 'b') l ASOF JOIN (SELECT 3 AS t, 'x' AS w) r ON l.t >= r.t
SELECT * FROM (SELECT 1 AS a) x POSITIONAL JOIN (SELECT 2 AS b) y
SELECT a FROM files.t ORDER BY a DESC NULLS LAST LIMIT 2 OFFSET 1
SELECT count(*) FROM (SELECT a FROM files.t LIMIT 10%)
SELECT count(*) > 0 FROM files.t USING SAMPLE 50 ROWS
SELECT quantile_cont(a, 0.5), median(a), mode(a % 3), stddev(a), corr(a, a), approx_count_distinct(a) > 0 FROM files.t
SELECT arg_max(id, a), min_by(id, a), first(a ORDER BY a), any_value(1), bool_and(a >= 0), histogram(a % 2) FROM files.t
DESCRIBE SELECT 1 AS a, 'x' AS b
SUMMARIZE SELECT a FROM files.t
SELECT a AS "select", id AS "with ""quotes""" FROM files.t ORDER BY a LIMIT 1
SELECT t.* FROM files.t t ORDER BY t.a LIMIT 1
SELECT x: 1, y: 2
SELECT 0x1F, 0b11, 1_000, .5, 1e-3
SELECT ifnull(NULL, 1), if(true, 1, 2), greatest(1, 3, 2), least(1, 3, 2)
SELECT INTERVAL '1 day 2 hours', INTERVAL 3 MONTH, to_days(5)
SELECT 'a' COLLATE NOCASE = 'A', 'ä' < 'z' COLLATE NOACCENT
SELECT a FROM files.t WHERE a = (SELECT max(b.a) FROM files.t b WHERE b.a < 10)
TABLE files.t ORDER BY a LIMIT 1
VALUES (1, 2), (3, 4)
SELECT TRY(1 / 0), TRY('x'::INTEGER)
SELECT list_value(1, 2), struct_extract({'a': 1}, 'a'), map_keys(MAP {'k': 1}), element_at(MAP {'k': 1}, 'k')
SELECT levenshtein('duck', 'luck'), jaccard('duck', 'luck'), jaro_winkler_similarity('duck', 'luck')
SELECT array_cosine_distance([1, 2]::FLOAT[2], [2, 1]::FLOAT[2]), list_cosine_similarity([1, 2], [2, 1])
SELECT bit_count(7), 5 & 3, 5 | 3, xor(5, 3), ~5, 1 << 3
SELECT isnan('nan'::DOUBLE), isinf('inf'::DOUBLE), 'nan'::DOUBLE, 'infinity'::DOUBLE
SELECT grouping(k), k, count(*) FROM (SELECT a % 2 AS k FROM files.t) GROUP BY CUBE (k) ORDER BY k NULLS LAST
SELECT 5., .25, 5.0, 1e3, 1E+2, 12345678901234567890, 0.1 + 0.2, 1.0 / 3
SELECT typeof(5.), typeof(1e3), typeof(1.50), typeof(12345678901), typeof(170141183460469231731687303715884105727), typeof(1_000.5)
SELECT -9223372036854775808, 9223372036854775807, -170141183460469231731687303715884105728
SELECT 1::TINYINT, 2::SMALLINT, 3::UTINYINT, 4::UBIGINT, 5::FLOAT, 6::REAL, 7::NUMERIC(5, 1)
SELECT true AND NULL, true OR NULL, NOT NULL, NULL = NULL, NULL IS NOT DISTINCT FROM NULL
SELECT (1, 2) = (1, 2), (1, 2) < (1, 3), ROW(1, 'a'), {'a': {'b': [{'c': 2}]}}
SELECT [1, NULL, 3], []::INTEGER[], [[1], [2, 3]][2][1], [1, 2, 3][-1], [1, 2, 3, 4][2:], [1, 2, 3][:2]
SELECT 'hello'[2], 'hello'[2:4], 'hello'[-1], array_slice([1, 2, 3], 1, 2)
SELECT list_aggregate([1, 2, 3], 'sum'), list_distinct([1, 1, 2]), list_concat([1], [2]), flatten([[1], [2]]), list_zip([1, 2], ['a', 'b'])
SELECT list_transform([1, 2, 3], lambda x : x * 2), list_filter([1, 2, 3, 4], lambda x, i : i > 2)
SELECT list_reverse([1, 2, 3]), list_position([1, 2], 2), array_agg(a ORDER BY a) FROM files.t WHERE a < 3 GROUP BY ALL
SELECT MAP {'a': 1, 'b': 2}, map_values(MAP {'a': 1}), map_entries(MAP {'k': 'v'}), cardinality(MAP {'a': 1}), map_from_entries([('k', 1)])
SELECT union_value(num := 2), union_tag(union_value(str := 'x')), union_extract(union_value(n := 1), 'n')
SELECT [1, 2]::INTEGER[2], array_value(1, 2, 3), array_length([1, 2]::INTEGER[2]), array_inner_product([1, 2]::FLOAT[2], [3, 4]::FLOAT[2])
SELECT struct_insert({'a': 1}, b := 2), struct_keys({'a': 1, 'b': 2}), unnest({'a': 1, 'b': 2})
SELECT unnest([{'a': 1, 'b': [2, 3]}], recursive := true)
SELECT u.x, u.y FROM (SELECT unnest([1, 2]) AS x, unnest(['a', 'b']) AS y) u ORDER BY 1
SELECT t.a, u.e FROM files.t t, unnest([t.a, t.a * 10]) AS u(e) WHERE t.a BETWEEN 1 AND 2 ORDER BY 1, 2
SELECT * FROM generate_series(DATE '2024-01-01', DATE '2024-01-03', INTERVAL 1 DAY) g(day)
SELECT * FROM range(TIMESTAMP '2024-01-01', TIMESTAMP '2024-01-02', INTERVAL 12 HOUR) r(ts)
SELECT i, j FROM range(2) a(i), range(2) b(j) ORDER BY ALL
FROM files.t WHERE a < 2 ORDER BY a
FROM (FROM files.t SELECT a, a * 2 AS b) SELECT sum(b)
FROM files.t t JOIN files.t u ON t.a = u.a SELECT count(*)
SELECT a, FROM files.t WHERE a < 1
SELECT count(*), FROM files.t
SELECT * FROM files.t NATURAL JOIN (SELECT 1 AS a)
SELECT count(*) FROM files.t a FULL OUTER JOIN (SELECT a + 190 AS a FROM files.t) b USING (a)
SELECT count(*) FROM files.t a RIGHT JOIN range(300) r(i) ON a.a = r.i WHERE a.id IS NULL
SELECT x.a, y.a FROM files.t x JOIN files.t y ON x.a < y.a AND y.a < 3 ORDER BY ALL
SELECT a.i, b.i FROM range(3) a(i) LEFT JOIN range(2) b(i) ON a.i = b.i ORDER BY 1
SELECT * FROM (SELECT 1 AS k, 10 AS v) ASOF LEFT JOIN (SELECT 0 AS k, 'x' AS w) USING (k)
SELECT p.x, l.y FROM range(2) p(x) LEFT JOIN LATERAL (SELECT p.x + 1 AS y WHERE p.x > 0) l ON true ORDER BY 1
SELECT t.a, (SELECT sum(u.a) FROM files.t u WHERE u.a <= t.a) AS running FROM files.t t WHERE a < 4 ORDER BY 1
SELECT a FROM files.t t WHERE EXISTS (SELECT 1 FROM files.t u WHERE u.a = t.a + 1 AND u.a % 50 = 0) ORDER BY 1
SELECT a FROM files.t WHERE (a, id) IN (SELECT a, id FROM files.t WHERE a < 2) ORDER BY 1
SELECT a FROM files.t WHERE a = ANY (SELECT 3 UNION SELECT 5) ORDER BY 1
SELECT ARRAY(SELECT a FROM files.t WHERE a < 3 ORDER BY a)
WITH RECURSIVE fib(a, b) AS (SELECT 0, 1 UNION ALL SELECT b, a + b FROM fib WHERE b < 50) SELECT list(a) FROM fib
WITH RECURSIVE tree(id, parent) AS (VALUES (1, NULL), (2, 1), (3, 2)), up AS (SELECT id, parent FROM tree WHERE id = 3 UNION ALL SELECT t.id, t.parent FROM tree t JOIN up ON up.parent = t.id) SELECT list(id ORDER BY id) FROM up
WITH RECURSIVE c(k, n) USING KEY (k) AS (SELECT 1, 1 UNION SELECT k, n + 1 FROM c WHERE n < 3) SELECT * FROM c
WITH a(x) AS (SELECT 1), b AS (WITH c AS (SELECT x + 1 AS y FROM a) SELECT * FROM c) SELECT * FROM b
WITH t AS (SELECT 42 AS a) SELECT a FROM t
WITH x AS NOT MATERIALIZED (SELECT a FROM files.t) SELECT max(a) FROM x
SELECT * FROM (WITH q AS (SELECT 1 AS z) SELECT z FROM q)
(SELECT 1 AS a UNION SELECT 2) EXCEPT SELECT 2 ORDER BY 1
SELECT a FROM (SELECT 1 AS a UNION ALL SELECT 1) INTERSECT ALL SELECT 1
SELECT 1 AS a, 2 AS b UNION BY NAME SELECT 3 AS b, 4 AS c ORDER BY ALL
(SELECT a FROM files.t ORDER BY a LIMIT 1) UNION ALL (SELECT a FROM files.t ORDER BY a DESC LIMIT 1)
SELECT a % 2 AS odd, GROUPING(odd), count(*) FROM files.t GROUP BY ROLLUP (odd) ORDER BY ALL
SELECT a % 2 AS x, a % 5 AS y, sum(a) FROM files.t GROUP BY CUBE (x, y) ORDER BY ALL LIMIT 5
SELECT count(*) FROM files.t GROUP BY () HAVING count(*) > 0
SELECT sum(a) FILTER (a > 10), count(*) FILTER (WHERE a % 2 = 0) FROM files.t
SELECT first(a ORDER BY a DESC), last(a ORDER BY a), arg_min(id, a), max(a, 3), min_by(a, id) FROM files.t
SELECT avg(DISTINCT a % 3), sum(DISTINCT a % 4), group_concat(DISTINCT (a % 3)::VARCHAR ORDER BY (a % 3)::VARCHAR) FROM files.t
SELECT bit_and(a), bit_or(a), product(a % 2 + 1) > 0, kurtosis(a), skewness(a), entropy(a % 4), var_pop(a), covar_samp(a, a) FROM files.t
SELECT regr_slope(a, a), regr_r2(a, a), quantile_disc(a, [0.25, 0.75]), mad(a), favg(a), fsum(a) FROM files.t
SELECT ntile(4) OVER (ORDER BY a), percent_rank() OVER (ORDER BY a), cume_dist() OVER (ORDER BY a) FROM files.t ORDER BY a LIMIT 3
SELECT a, first_value(a) OVER w, last_value(a) OVER w, nth_value(a, 2) OVER w FROM files.t WHERE a < 4 WINDOW w AS (ORDER BY a RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) ORDER BY a
SELECT a, sum(a) OVER (ORDER BY a GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW) FROM files.t WHERE a < 4 ORDER BY a
SELECT a, count(*) FILTER (WHERE a > 1) OVER (ORDER BY a) FROM files.t WHERE a < 4 ORDER BY a
SELECT a, lag(a, 1 IGNORE NULLS) OVER (ORDER BY a), dense_rank() OVER (PARTITION BY a % 2 ORDER BY a) FROM files.t WHERE a < 4 ORDER BY a
SELECT a, max(a) OVER (PARTITION BY a % 3 ORDER BY a RANGE BETWEEN 3 PRECEDING AND CURRENT ROW) AS m FROM files.t QUALIFY m < 4 ORDER BY a
SELECT PIVOTED.* FROM (PIVOT (SELECT a % 2 AS k, a % 3 AS g, a FROM files.t) ON k IN (0, 1) USING sum(a), max(a) GROUP BY g) AS PIVOTED ORDER BY g
SELECT * FROM (SELECT a % 2 AS k, a % 3 AS g, a FROM files.t) PIVOT (count(*) AS n FOR k IN (0 AS even, 1 AS odd) GROUP BY g) ORDER BY g
SELECT * FROM (SELECT 1 AS id, 2 AS jan, 3 AS feb) UNPIVOT (sales FOR month IN (jan, feb)) ORDER BY month
FROM (SELECT 1 AS id, NULL AS jan, 3 AS feb) UNPIVOT INCLUDE NULLS (sales FOR month IN (jan, feb)) ORDER BY month
SELECT * FROM (SELECT 1 AS a, 2 AS b) UNPIVOT ((v) FOR n IN (a, b)) ORDER BY n
SELECT COLUMNS(* EXCLUDE (id)) FROM files.t ORDER BY 1 LIMIT 1
SELECT COLUMNS(c -> c LIKE 'a%') FROM files.t ORDER BY 1 LIMIT 1
SELECT COLUMNS(['a', 'id'])::VARCHAR FROM files.t ORDER BY 1 LIMIT 1
SELECT coalesce(*COLUMNS(*)) FROM (SELECT NULL AS x, 2 AS y)
SELECT * LIKE 'a%' FROM files.t ORDER BY 1 LIMIT 1
SELECT * EXCLUDE (a) REPLACE (upper(id) AS id) FROM files.t ORDER BY id LIMIT 1
SELECT t.* EXCLUDE (a), t.a + 1 AS b FROM files.t t ORDER BY b LIMIT 1
SELECT DISTINCT ON (a % 2, a % 3) a FROM files.t ORDER BY a % 2, a % 3, a
SELECT a FROM files.t ORDER BY a % 3 DESC, a ASC NULLS FIRST LIMIT 3 OFFSET 2
SELECT a FROM files.t ORDER BY ALL DESC LIMIT 2
SELECT a FROM files.t ORDER BY #1 LIMIT 2
SELECT a AS z FROM files.t WHERE z < 2 ORDER BY z
SELECT a + 1 AS b, b * 2 AS c FROM files.t WHERE c < 6 ORDER BY c
SELECT a FROM files.t LIMIT (SELECT 2)
SELECT count(*) BETWEEN 0 AND 200 FROM files.t TABLESAMPLE reservoir(20%)
SELECT count(*) >= 0 FROM files.t TABLESAMPLE 10 PERCENT (bernoulli, 42)
SELECT CAST({'a': 1} AS STRUCT(a VARCHAR)), CAST([1, 2] AS VARCHAR[]), CAST('[1, 2]' AS INTEGER[]), '{"a":1}'::JSON::STRUCT(a INTEGER)
SELECT CAST('2024-01-02' AS DATE), '12:30'::TIME, '2024-01-02 03:04:05+02'::TIMESTAMPTZ, '1 day'::INTERVAL, DATE '2024-01-01' - DATE '2023-12-01'
SELECT date_part('dow', DATE '2024-05-17'), last_day(DATE '2024-02-01'), make_date(2024, 5, 17), to_timestamp(0), epoch(TIMESTAMP '1970-01-02'), strptime('02/03/2024', '%d/%m/%Y')
SELECT time_bucket(INTERVAL 7 DAY, DATE '2024-05-17'), datesub('month', DATE '2024-01-31', DATE '2024-03-01'), monthname(DATE '2024-05-17'), isodow(DATE '2024-05-19')
SELECT TIMESTAMP '2024-05-17 12:00:00' AT TIME ZONE 'UTC', TIMESTAMPTZ '2024-05-17 12:00:00+00' AT TIME ZONE 'UTC'
SELECT 'infinity'::DATE > DATE '2024-01-01', 'epoch'::TIMESTAMP, TIMESTAMP_NS '2024-01-01 00:00:00.123456789', TIMESTAMP_S '2024-01-01 00:00:00'
SELECT format('{}-{:02d}', 'a', 5), printf('%s %d', 'x', 3), lpad('7', 3, '0'), rpad('a', 3, '.'), reverse('abc'), repeat('ab', 2), ascii('a'), chr(97), unicode('ü')
SELECT regexp_extract('a1b22', '(\d+)$', 1), regexp_extract_all('a1b22', '\d+'), regexp_split_to_array('a1b', '\d'), regexp_full_match('abc', 'a.c'), string_split('a,b', ',')
SELECT starts_with('abc', 'a'), 'abc' ^@ 'a', contains('abc', 'b'), position('b' IN 'abc'), instr('abc', 'c'), left('abc', 2), right('abc', 1), strip_accents('é'), nfc_normalize('é')
SELECT substring('hello' FROM 2 FOR 3), trim(BOTH 'x' FROM 'xax'), translate('abc', 'ab', 'xy'), bar(5, 0, 10, 5)
SELECT to_base64('a'::BLOB), from_base64('YQ=='), hex('a'), unhex('61'), sha256('a'), encode('ü'), decode('\xC3\xBC'::BLOB), url_encode('a b'), url_decode('a%20b')
SELECT json_object('a', 1, 'b', [1, 2]), json_array(1, 'x', NULL), to_json({'a': 1}), json_type('{"a": 1}', '$.a'), json_keys('{"a": 1}'), json_valid('x'), json_merge_patch('{"a": 1}', '{"b": 2}')
SELECT json_extract_string('{"a": {"b": "c"}}', '$.a.b'), '{"a": [1, 2]}'::JSON -> '$.a[1]', json_structure('{"a": 1}'), json_transform('{"a": 1}', '{"a": "INTEGER"}'), json_contains('[1, 2]', '1')
SELECT j.key, j.value FROM (SELECT '{"x": 1}'::JSON AS d) s, json_each(s.d) j
SELECT json_group_array(a), json_group_object(id, a) FROM (SELECT * FROM files.t WHERE a < 2 ORDER BY a)
SELECT abs(-5), @ -5, sign(-2), ceil(1.2), floor(1.8), round(2.567, 2), trunc(1.9), sqrt(16), cbrt(27), power(2, 3), exp(0), ln(1), log10(100), log2(8), pi(), factorial(5), gcd(12, 18), lcm(4, 6), mod(7, 3), even(2.1)
SELECT sin(0), cos(0), tan(0), atan2(1, 1), degrees(pi()), radians(180), 5!, 2 ^ 3, 7 / 2, -7 // 2, 7.5 % 2
SELECT bin(5), to_binary(5), bitstring('101', 5), get_bit('101'::BIT, 0), '101'::BIT & '110'::BIT, bit_length('a'), octet_length('a'::BLOB)
SELECT enum_range(NULL::ENUM('a', 'b')), 'a'::ENUM('a', 'b') < 'b'::ENUM('a', 'b')
SELECT a::VARCHAR || '-' || id AS k FROM files.t WHERE starts_with(k, '1') ORDER BY a LIMIT 2
SELECT CASE WHEN a % 2 = 0 THEN CASE a WHEN 0 THEN 'zero' ELSE 'even' END END FROM files.t ORDER BY a LIMIT 3
SELECT a IN (1, 2, NULL), a NOT IN (SELECT NULL::BIGINT WHERE false) FROM files.t ORDER BY a LIMIT 3
SELECT id GLOB 'd?', id LIKE 'd\_%' ESCAPE '\', id NOT ILIKE '%D%', id !~ 'x' FROM files.t ORDER BY a LIMIT 2
SELECT nullif('', ''), ifnull(NULL, 'x'), coalesce(NULL, NULL, 3), greatest(NULL, 1), error IS NULL FROM (SELECT NULL AS error)
SELECT "a" AS "A b", t."id" "ünï", 1 "1" FROM files.t t ORDER BY "A b" LIMIT 1
SELECT 1 AS "a""b", 2 AS "😀"
SELECT /* a comment */ 1 -- the end
SELECT $tag$it's $1 $$ text$tag$
SELECT alias.a FROM files.t AS alias(x, a) ORDER BY 1 LIMIT 1
SELECT s.b.c FROM (SELECT {'c': 1} AS b) s
SELECT (s).c, s.* FROM (SELECT {'c': 1, 'd': 2} AS s)
SELECT max(a) - min(a) AS spread, spread * 2 FROM files.t
SELECT (SELECT a FROM files.t WHERE a = 7) + (SELECT count(*) FROM files.t WHERE a < 3)
SELECT a FROM files.t WHERE id = (SELECT id FROM files.t u WHERE u.a = 9)
DESCRIBE files.t
DESCRIBE SELECT a, id FROM files.t
SUMMARIZE files.t
SELECT column_name FROM (DESCRIBE files.t) ORDER BY 1
VALUES (1, 'a'), (2, NULL) ORDER BY 1 DESC LIMIT 1
SELECT * FROM VALUES (1, 2) t(x, y)
SELECT try_cast('x' AS DATE), TRY_CAST([1, 2] AS INTEGER), 'true'::BOOLEAN, 1::BOOLEAN, 0.5::INTEGER, 1.5::INTEGER
SELECT alias, typeof(alias) FROM (SELECT unnest(['a', 'b']) AS alias) ORDER BY 1
SELECT count(*), count(a), count(NULL), sum(NULL::INTEGER), max('b') FROM files.t WHERE false
SELECT list(DISTINCT a % 3 ORDER BY a % 3), list(a) FILTER (a < 2), list_sum([1, 2]), list_avg([1, 3]) FROM files.t WHERE a < 6 GROUP BY ALL
