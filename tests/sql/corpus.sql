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
-- More of each kind: FROM first, joins, CTEs, grouping, windows, sets, PIVOT, nested values, stars, literals, predicates, functions.
FROM files.t LIMIT 2
FROM files.t ORDER BY a DESC LIMIT 2 OFFSET 1
FROM files.t AS x SELECT x.a, total: sum(x.a) OVER () ORDER BY 1 LIMIT 1
FROM (FROM range(5) r(i) SELECT i * i AS q) SELECT max(q)
SELECT 1 AS a, 2 AS b,
SELECT n: a + 1, m: n * 2 FROM files.t ORDER BY n LIMIT 2
FROM (VALUES (1, 'a'), (2, 'b'),) v(n, s) ORDER BY n
VALUES (1), (NULL), (3) ORDER BY 1 NULLS FIRST LIMIT 2
SELECT * FROM (VALUES (1, 2.5, DATE '2024-01-01')) v(i, d, t)
TABLE files.t ORDER BY a DESC LIMIT 1
SELECT count(*) FROM files.t a NATURAL JOIN files.t b
SELECT a.a, b.a FROM files.t a RIGHT JOIN (SELECT 500 AS a) b ON a.a = b.a
SELECT count(*) FROM files.t a FULL OUTER JOIN (SELECT a + 100 AS a FROM files.t) b USING (a)
SELECT * FROM range(3) x(i) JOIN range(3) y(i) ON x.i < y.i ORDER BY ALL
SELECT * FROM range(2) x(i), range(2) y(j) WHERE i = j ORDER BY ALL
SELECT x.i, y.j FROM range(3) x(i) ASOF LEFT JOIN (VALUES (1, 'p')) y(k, j) ON x.i >= y.k ORDER BY 1
SELECT l.t, r.w FROM (VALUES (1), (5), (9)) l(t) ASOF JOIN (VALUES (2, 'x'), (6, 'y')) r(t, w) USING (t) ORDER BY 1
SELECT * FROM range(3) x(i) POSITIONAL JOIN range(2) y(j)
SELECT i FROM range(5) x(i) SEMI JOIN range(2, 9) y(j) ON i = j ORDER BY 1
SELECT i FROM range(5) x(i) ANTI JOIN range(2, 9) y(i) USING (i) ORDER BY 1
SELECT x.i, s.m FROM range(3) x(i) LEFT JOIN LATERAL (SELECT max(a) AS m FROM files.t WHERE a < x.i) s ON true ORDER BY 1
SELECT * FROM (SELECT 1 AS a) x CROSS JOIN LATERAL (SELECT x.a + 1 AS b) y CROSS JOIN LATERAL (SELECT y.b * 2 AS c) z
SELECT r.i, g.x FROM range(2) r(i), LATERAL generate_series(0, r.i) g(x) ORDER BY ALL
SELECT i, u FROM (SELECT [1, 2] AS l, 7 AS i), unnest(l) x(u) ORDER BY u
SELECT count(*) FROM (files.t a JOIN files.t b USING (id)) JOIN files.t c USING (id)
WITH RECURSIVE f(n, a, b) AS (SELECT 0, 0, 1 UNION ALL SELECT n + 1, b, a + b FROM f WHERE n < 20) SELECT max(a) FROM f
WITH RECURSIVE tree(node, path) AS (SELECT 1, [1] UNION ALL SELECT node + 1, list_append(path, node + 1) FROM tree WHERE node < 4) SELECT path FROM tree ORDER BY node
WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT n % 5 + 1 FROM r) SELECT count(*) FROM r
WITH RECURSIVE t(k, v) USING KEY (k) AS (SELECT 1, 10 UNION SELECT k, v - 1 FROM t WHERE v > 3) SELECT * FROM t
WITH x AS NOT MATERIALIZED (SELECT 1 AS a) SELECT * FROM x, x AS y
WITH x(p, q) AS (SELECT 1, 2) SELECT q, p FROM x
WITH a AS (SELECT 1 AS v), b AS (WITH a AS (SELECT 2 AS v) SELECT v FROM a) SELECT a.v, b.v FROM a, b
WITH t AS (SELECT 41 AS a) SELECT t.a + 1 FROM t
WITH t AS (FROM files.t WHERE a > 197) SELECT a FROM t ORDER BY a
SELECT (WITH z AS (SELECT 3 AS v) SELECT v FROM z) AS v
WITH u AS (SELECT a FROM files.t WHERE a < 3) SELECT * FROM u UNION ALL SELECT sum(a) FROM u ORDER BY 1
SELECT a % 2 AS x, a % 3 AS y, count(*) AS n FROM files.t GROUP BY CUBE (x, y) ORDER BY ALL NULLS LAST
SELECT a % 2 AS x, GROUPING_ID(x), count(*) FROM files.t GROUP BY GROUPING SETS ((x), ()) ORDER BY ALL NULLS LAST
SELECT a // 100 AS h, a // 50 AS f, sum(a) FROM files.t GROUP BY ROLLUP (h, f) HAVING sum(a) > 2000 ORDER BY ALL NULLS LAST
SELECT sum(a) FROM files.t GROUP BY ()
SELECT count(*) FROM files.t GROUP BY a % 2, () ORDER BY 1
SELECT a % 4 AS k, list(a ORDER BY a DESC)[1:2] AS top FROM files.t GROUP BY k HAVING k > 1 ORDER BY k
SELECT k, avg(a) AS m FROM (SELECT *, a % 2 AS k FROM files.t) GROUP BY k HAVING m > 99 ORDER BY k
SELECT count(*), count(NULL), sum(DISTINCT a % 3), count(DISTINCT (a % 2, a % 3)) FROM files.t
SELECT sum(a) FILTER (a > 198), avg(a) FILTER (WHERE a < 2), string_agg(DISTINCT id ORDER BY id) FILTER (WHERE a < 3) FROM files.t
SELECT array_agg(a ORDER BY id DESC NULLS LAST, a) FROM files.t WHERE a < 3
SELECT max(a, 3), min(id, 2), arg_max(id, a, 2), max_by(a, id) FROM files.t
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY a), percentile_disc(0.25) WITHIN GROUP (ORDER BY a DESC), mode() WITHIN GROUP (ORDER BY a % 3) FROM files.t
SELECT quantile_disc(a, [0.1, 0.9]), approx_quantile(1, 0.5), mad(a), entropy(a % 2), kurtosis(a), skewness(a) FROM files.t
SELECT regr_slope(a, a * 2), covar_pop(a, a), var_samp(a), stddev_pop(a), sem(a) FROM files.t
SELECT bit_and(a), bit_or(a), bit_xor(a), bool_or(a > 1), product(1 + a % 2), favg(a) FROM files.t WHERE a < 5
SELECT first(id ORDER BY a), last(id ORDER BY a), any_value(id ORDER BY a), histogram(a % 3), count_if(a > 5) FROM files.t
SELECT a, rank() OVER (ORDER BY a // 2), dense_rank() OVER (ORDER BY a // 2), percent_rank() OVER w, cume_dist() OVER w, ntile(3) OVER w FROM files.t WHERE a < 5 WINDOW w AS (ORDER BY a) ORDER BY a
SELECT a, first_value(a) OVER w, last_value(a) OVER w, nth_value(a, 2) OVER w FROM files.t WHERE a < 5 WINDOW w AS (ORDER BY a ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) ORDER BY a
SELECT a, sum(a) OVER (ORDER BY a RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING) FROM files.t WHERE a < 6 ORDER BY a
SELECT a, sum(a) OVER (ORDER BY a // 2 GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM files.t WHERE a < 6 ORDER BY a
SELECT a, sum(a) OVER (ORDER BY a ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW) FROM files.t WHERE a < 5 ORDER BY a
SELECT a, sum(a) OVER (ORDER BY a ROWS BETWEEN 2 PRECEDING AND 2 FOLLOWING EXCLUDE TIES), sum(a) OVER (ORDER BY a // 2 GROUPS CURRENT ROW EXCLUDE GROUP) FROM files.t WHERE a < 5 ORDER BY a
SELECT a, count(*) FILTER (WHERE a % 2 = 0) OVER (ORDER BY a), avg(DISTINCT a % 2) OVER () FROM files.t WHERE a < 4 ORDER BY a
SELECT t, sum(v) OVER (ORDER BY t RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND CURRENT ROW) FROM (VALUES (DATE '2024-01-01', 1), (DATE '2024-01-02', 2), (DATE '2024-01-04', 3)) v(t, v) ORDER BY t
SELECT a, first_value(a ORDER BY a DESC) OVER (PARTITION BY a % 2) FROM files.t WHERE a < 4 ORDER BY a
SELECT a, row_number() OVER (PARTITION BY a % 2 ORDER BY a DESC) AS rn FROM files.t QUALIFY rn = 1 ORDER BY a
SELECT a FROM files.t WHERE a < 9 QUALIFY a > avg(a) OVER () ORDER BY a
SELECT a, lead(a) OVER v FROM files.t WHERE a < 3 WINDOW u AS (PARTITION BY 1), v AS (u ORDER BY a) ORDER BY a
(SELECT 1 AS a UNION SELECT 2) INTERSECT SELECT 2
SELECT 1 UNION ALL (SELECT 2 ORDER BY 1 LIMIT 1) ORDER BY 1 DESC
SELECT a % 3 FROM files.t WHERE a < 6 EXCEPT ALL SELECT 1 ORDER BY 1
SELECT a % 2 FROM files.t WHERE a < 6 INTERSECT ALL (VALUES (1), (1)) ORDER BY 1
SELECT 1 AS a, 2 AS b UNION BY NAME SELECT 3 AS b, 4 AS c ORDER BY ALL NULLS LAST
SELECT 1 UNION SELECT 2 UNION ALL SELECT 3 EXCEPT SELECT 2 ORDER BY 1
SELECT DISTINCT ON (a % 3) a, id FROM files.t ORDER BY a % 3, a DESC
SELECT DISTINCT a % 2 AS x, a % 2 = 0 AS y FROM files.t ORDER BY ALL
SELECT a FROM files.t ORDER BY a LIMIT 1%
SELECT a FROM files.t ORDER BY a LIMIT (SELECT 2) OFFSET 1 + 1
SELECT a FROM files.t ORDER BY a OFFSET 198
SELECT a FROM files.t ORDER BY a OFFSET 5 LIMIT 2
SELECT a FROM files.t ORDER BY a FETCH FIRST 2 ROWS ONLY
PIVOT (SELECT a % 2 AS k, a % 3 AS g, a FROM files.t) ON k IN (0, 1) USING sum(a) AS s, count(*) AS n GROUP BY g ORDER BY g
PIVOT (SELECT a % 2 AS k, a % 3 AS g, a FROM files.t) ON k IN (0, 1), g IN (0, 2) USING max(a)
PIVOT (SELECT a % 2 AS k, a FROM files.t) ON (k = 0) IN (true, false) USING count(a)
SELECT * FROM (SELECT a % 2 AS k, a % 3 AS g, a FROM files.t) PIVOT (sum(a) AS s, max(a) AS m FOR k IN (0 AS even, 1 AS odd) GROUP BY g) ORDER BY g
UNPIVOT (SELECT 1 AS id, 10 AS jan, 20 AS feb) ON jan, feb INTO NAME month VALUE sales ORDER BY month
UNPIVOT (SELECT 1 AS id, 10 AS jan, NULL::INT AS feb) ON COLUMNS(* EXCLUDE (id)) INTO NAME month VALUE sales
SELECT * FROM (SELECT 1 AS id, 10 AS jan, NULL::INT AS feb) UNPIVOT INCLUDE NULLS (sales FOR month IN (jan, feb)) ORDER BY month
UNPIVOT (SELECT 1 AS id, 1 AS a1, 2 AS a2, 3 AS b1, 4 AS b2) ON (a1, a2), (b1, b2) INTO NAME half VALUE x, y ORDER BY half
SELECT * FROM (SELECT 1 AS id, 10 AS jan, 20 AS feb) UNPIVOT (s FOR m IN (jan AS 'J', feb AS 'F')) ORDER BY m
SELECT row(1, 'a'), (1, 2, 3), struct_pack(x := 1, y := 'z'), struct_insert({'a': 1}, b := 2)
SELECT MAP {'a': 1, 'b': 2}, map([1, 2], ['x', 'y'])[2], map_entries(MAP {1: 2}), MAP {}, cardinality(MAP {1: 2})
SELECT union_value(num := 2), union_tag(union_value(s := 'x')), union_value(n := 5).n
SELECT list_transform([1, 2], lambda x : x + 1), list_filter([1, 2, 3], lambda x : x > 1), list_reduce([1, 2, 3], lambda a, b : a * b)
SELECT list_transform([5, 6], (x, i) -> x * i), list_transform([[1], [2]], l -> list_transform(l, y -> y + len(l)))
SELECT [x + y FOR x, y IN [10, 20]], [upper(s) FOR s IN ['a', 'b']], [x FOR x IN range(10) IF x % 2 = 0]
SELECT list_reduce(['a', 'b'], (x, y) -> x || y, 'z'), list_aggregate([1, 2, 3], 'sum'), list_zip([1, 2], ['a', 'b'])
SELECT list_sort([3, 1, NULL, 2], 'DESC', 'NULLS LAST'), list_distinct([1, 1, 2]), list_slice([1, 2, 3], 1, 2), flatten([[1], [2]]), list_position([4, 5], 5)
SELECT 2 IN [1, 2], [1, 2] || [3], [1, 2] @> [1], [1] <@ [1, 2], [1, 2] && [2, 3], list_intersect([1, 2], [2, 3])
SELECT apply([1, 2], x -> x + a) FROM files.t WHERE a = 7
SELECT unnest([{'a': 1, 'b': 2}, {'a': 3, 'b': 4}], recursive := true)
SELECT unnest({'a': 42, 'b': 84}), unnest([1, 2]) AS l
SELECT unnest([[1, 2], [3]], max_depth := 2) AS v
SELECT i, unnest(range(i)) AS u FROM range(3) r(i) ORDER BY ALL
SELECT array_value(1, 2)::INT[2], [1, 2]::INTEGER[2], array_distance([1, 2]::FLOAT[2], [3, 4]::FLOAT[2]), array_inner_product([1, 2]::DOUBLE[2], [3, 4]::DOUBLE[2])
SELECT generate_subscripts([7, 8, 9], 1) AS i
SELECT struct_keys({'a': 1}), struct_values({'a': 1, 'b': 'x'}), struct_update({'a': 1}, a := 2)
SELECT * EXCLUDE id FROM files.t ORDER BY a LIMIT 1
SELECT * EXCLUDE (id), id || '!' AS id FROM files.t ORDER BY a LIMIT 1
SELECT * LIKE 'i%' FROM files.t ORDER BY 1 LIMIT 1
SELECT * SIMILAR TO 'a|b' FROM files.t ORDER BY 1 LIMIT 1
SELECT * ILIKE 'A' FROM files.t ORDER BY 1 LIMIT 1
SELECT * NOT LIKE 'i%' FROM files.t ORDER BY 1 LIMIT 1
SELECT max(COLUMNS(c -> c LIKE 'a%')) FROM files.t
SELECT COLUMNS(['a', 'id']) FROM files.t ORDER BY ALL LIMIT 1
SELECT COLUMNS('^(i)d$') AS 'x_\1' FROM files.t ORDER BY 1 LIMIT 1
SELECT COLUMNS(* EXCLUDE (id)) + 1 FROM files.t ORDER BY 1 LIMIT 1
SELECT coalesce(*COLUMNS(*)) FROM (SELECT NULL AS a, 3 AS b)
SELECT struct_pack(*COLUMNS(lambda c : c = 'a')) FROM files.t WHERE a = 3
SELECT a FROM files.t WHERE COLUMNS(*) IS NOT NULL ORDER BY a LIMIT 1
SELECT count(*) FROM files.t WHERE COLUMNS('a')::INT < 3
SELECT min(COLUMNS(* REPLACE (a + 1 AS a))), count(*) FROM files.t
SELECT f FROM (SELECT f FROM files.t f WHERE a = 1)
SELECT #2, #1 FROM (SELECT 1 AS a, 2 AS b)
SELECT a, id FROM files.t ORDER BY #1 LIMIT 1
SELECT 5., .5, 5.5, 1e3, 1E-2, 1.5e+2, -0.0, 0x1f, 0XFF, 0b1010, 0o17
SELECT 1_000_000, 1_0.5_0, 0xFF_FF, 12345678901, 170141183460469231731687303715884105727, 340282366920938463463374607431768211455
SELECT 1::TINYINT, 1::UTINYINT, 300::SMALLINT, 1::UBIGINT, 1::HUGEINT, 1::UHUGEINT, 1.5::FLOAT, 1.5::DOUBLE, 1.25::DECIMAL(4, 1)
SELECT 1e10, 1e10 + 1, 2e0 / 3, 1e-7, 123456789.123456789, 1e308, -1e-308, 1e0 AS one
SELECT DATE '2024-02-29', TIME '23:59:59.999999', TIMESTAMP '2024-01-01', TIMESTAMPTZ '2024-01-01 12:00:00+02', TIMESTAMP_NS '2024-01-01 00:00:00.123456789', TIMESTAMP_S '2024-01-01 00:00:01', TIMESTAMP_MS '2024-01-01 00:00:00.5'
SELECT '\x00\xFF'::BLOB, 'x'::BLOB || 'y'::BLOB, '0101'::BIT, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::UUID, X'41'
SELECT 'infinity'::DATE, '-infinity'::TIMESTAMP, 'nan'::FLOAT, '-inf'::DOUBLE, '0044-03-15 (BC)'::DATE
SELECT 'happy'::ENUM('sad', 'happy'), '[1, 2]'::INT[], '{a: 1}'::STRUCT(a INT), CAST('{a=1}' AS MAP(VARCHAR, INT)), 1::UNION(i INT, s VARCHAR)
SELECT 'ｕｎｉ' AS "ключ", 1 AS "数", 2 AS naïve, 3 AS "a""b", 4 AS "with space", 5 AS "SELECT"
SELECT 7 / 2, 7 // 2, -7 // 2, 7 % -3, 1 / 0, 1 // 0, 0.0 / 0, 5 & 3 | 8, 1 << 2 + 1
SELECT a FROM files.t WHERE a IN (1, 2, NULL) OR (a, id) IN ((3, 'd3'), (4, 'x')) ORDER BY a
SELECT a FROM files.t WHERE (a, id) IN (SELECT a, id FROM files.t WHERE a > 198)
SELECT a FROM files.t x WHERE EXISTS (FROM files.t y WHERE y.a = x.a + 198) ORDER BY a
SELECT a FROM files.t x WHERE NOT EXISTS (SELECT 1 FROM files.t y WHERE y.a > x.a)
SELECT ARRAY (SELECT a FROM files.t WHERE a < 3 ORDER BY a), (SELECT list(a ORDER BY a) FROM files.t WHERE a < 2)
SELECT id GLOB 'd[12]', id LIKE '_1%' ESCAPE '\', id LIKE 'd!%' ESCAPE '!', id NOT ILIKE 'D%', id ^@ 'd', id ~~ 'd1', id !~~ 'd1', id ~~* 'D1' FROM files.t WHERE a < 2 ORDER BY a
SELECT id ~ 'd.', id !~ 'x', regexp_matches(id, 'D', 'i'), regexp_extract(id, '(d)(\d+)', ['l', 'n']), id SIMILAR TO 'd\d', id NOT SIMILAR TO 'x' FROM files.t WHERE a = 5
SELECT a IS NULL, a NOTNULL, a ISNULL, (a > NULL) IS UNKNOWN, a IS NOT DISTINCT FROM NULL FROM files.t WHERE a = 2
SELECT (a > 1) IS TRUE, (a > 1) IS NOT FALSE, (a > 1) IS FALSE FROM (VALUES (2), (NULL), (0)) v(a)
SELECT CASE WHEN a % 2 = 0 THEN CASE a WHEN 0 THEN 'zero' ELSE 'even' END WHEN a = 1 THEN NULL ELSE 'odd' END AS kind FROM files.t WHERE a < 4 ORDER BY a
SELECT (SELECT x.a + y.a FROM files.t y WHERE y.a = x.a) AS twice FROM files.t x WHERE x.a < 3 ORDER BY 1
SELECT a, (SELECT count(*) FROM files.t y WHERE y.a % 5 = x.a % 5 AND y.a < x.a) FROM files.t x WHERE a BETWEEN 10 AND 12 ORDER BY a
SELECT * FROM (SELECT * FROM (SELECT * FROM (SELECT a + 1 AS b FROM files.t WHERE a < 2))) ORDER BY b
SELECT a AS b, b + 1 AS c FROM files.t WHERE b < 3 AND c > 1 ORDER BY c
SELECT TRY_CAST('x' AS INT), '12'::INT + 1, CAST(1.5 AS INT), 'true'::BOOL, 65::VARCHAR, try_cast('2024-13-01' AS DATE), a::VARCHAR FROM files.t WHERE a = 1
SELECT 'abc'[1], 'abc'[2:], 'abc'[-1], position('b' IN 'abc'), substring('hello' FROM 2 FOR 2), overlay_test FROM (SELECT 1 AS overlay_test)
SELECT trim(BOTH 'x' FROM 'xax'), trim(LEADING FROM '  a'), ltrim('xxa', 'x'), lpad('7', 3, '0'), 'a' || NULL, concat('a', NULL, 'b'), repeat('ab', 2), reverse('abc')
SELECT extract(epoch FROM TIMESTAMP '1970-01-01 00:01:00'), date_part(['year', 'month'], DATE '2024-05-06'), DATE '2024-01-31' + INTERVAL 1 MONTH, DATE '2024-03-01' - DATE '2024-02-01', TIMESTAMP '2024-01-02' - TIMESTAMP '2024-01-01'
SELECT TIMESTAMP '2024-01-01 12:00:00' AT TIME ZONE 'UTC', timezone('UTC', TIMESTAMP '2024-01-01 00:00:00'), strptime('03.02.2024', '%d.%m.%Y'), make_date(2024, 2, 3), time_bucket(INTERVAL 1 WEEK, DATE '2024-05-17'), last_day(DATE '2024-02-01')
SELECT unnest(generate_series(DATE '2024-01-01', DATE '2024-01-03', INTERVAL 1 DAY)) AS day
SELECT date_trunc('quarter', DATE '2024-05-17'), dayname(DATE '2024-05-17'), week(DATE '2024-05-17'), epoch_ms(1000), to_timestamp(0)::TIMESTAMP, monthname(DATE '2024-05-17'), isodow(DATE '2024-05-19')
SELECT '{"a": {"b": [1, "x", null]}}'::JSON ->> '$.a.b[1]', json_extract_string('{"k": "v"}', 'k'), ('{"a": 1}'::JSON).a, '{"a": [1, 2]}'::JSON -> 'a' -> 0, json('{"a":  1}')
SELECT json_object('a', 1, 'b', [1, 2]), json_array(1, 'x', NULL), to_json({'a': 1}), json_keys('{"a": 1, "b": 2}'), json_type('[1]'), json_valid('{'), json_merge_patch('{"a": 1}', '{"b": 2}')
SELECT json_transform('{"a": "1"}', '{"a": "INT"}'), from_json('{"a": [1, 2]}', '{"a": ["INT"]}').a[1], json_structure('{"a": 1}'), json_group_array(a), json_group_object(id, a) FROM files.t WHERE a < 2
SELECT fullkey, value FROM json_tree('{"a": [1, {"b": 2}]}') ORDER BY fullkey
SELECT 'ä' COLLATE NOACCENT = 'a', 'A' COLLATE NOCASE = 'a', 'Ä' COLLATE NOCASE.NOACCENT = 'a', id FROM files.t WHERE a < 3 ORDER BY id COLLATE NOCASE DESC
SELECT md5('x'), sha256('x'), hash(1) IS NOT NULL, base64('a'::BLOB), from_base64('YQ=='), hex('a'), unhex('61'), url_encode('a b'), bar(5, 0, 10, 10), strip_accents('é')
SELECT round(2.567, 2), round(-2.5), trunc(2.9), ceil(2.1), floor(-2.1), sign(-3), abs(-3), sqrt(16), cbrt(27), ln(1), log(100), log2(8), exp(0), pi(), greatest(1, 2), gcd(12, 18), factorial(5)
SELECT /* a comment */ 1 -- and another
SELECT/**/1/**/AS/**/a
SELECT	a	FROM	files.t	WHERE	a=1
SELECT * FROM files.t AS "my table" WHERE "my table".a = 2
SELECT x.number FROM files.t AS x(key, number) WHERE x.number = 3
SELECT 5.e3, 1.e-2, 1_000., 5.::VARCHAR, 99999999999999999999.
SELECT /* a /* nested ; */ comment */ 1 + /**/ 1 -- end ; of it
SELECT list_value(), struct_pack(a := []), [[1], []]
SELECT $é$it's$é$ AS "ключ"
SELECT a FROM files.t LIMIT 2.5
SELECT a FROM files.t LIMIT NULL OFFSET 199
SELECT * FROM unnest([1, 2]) WITH ORDINALITY AS t(v, n)
SELECT * FROM (VALUES ([]), ([1]))
SELECT (1, 2)[1], row(1, 2)[2], 'POINT(1 2)'::GEOMETRY IS NULL, '1'::BIGNUM
