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
