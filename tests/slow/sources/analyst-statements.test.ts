/** Typical statements on PostgreSQL, MariaDB and files must return the same rows and types as on copies. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { testMariadb, testPostgres } from '../../support/database-servers.ts'
import { createTestApp, type TestApp } from '../../support/test-app.ts'

const postgres = await testPostgres()
const mariadb = await testMariadb()
let app: TestApp

const WIDE = Array.from({ length: 300 }, (_, index) => `c${index}`)

const POSTGRES = `
  CREATE TABLE orders (id bigint PRIMARY KEY, customer integer, amount numeric(12,2), status varchar(20), note text,
    placed timestamptz, shipped date, key uuid, tags text[], attributes jsonb, is_paid boolean, weight double precision);
  INSERT INTO orders SELECT n, CASE WHEN n % 13 = 0 THEN NULL ELSE n % 9 END, CASE WHEN n % 17 = 0 THEN NULL ELSE (n * 37 % 1000) / 4.0 END,
    (ARRAY['new', 'paid', 'Sent', NULL])[1 + n % 4], repeat('ä', n % 3) || n,
    timestamptz '2024-01-01 00:30:00+02' + n * interval '7 hours', CASE WHEN n % 5 = 0 THEN NULL ELSE date '2024-01-01' + n % 40 END,
    ('00000000-0000-0000-0000-' || lpad((n % 20)::text, 12, '0'))::uuid, CASE WHEN n % 6 = 0 THEN NULL ELSE ARRAY['t' || n % 3, 'x'] END,
    jsonb_build_object('size', n % 4, 'color', (ARRAY['red', 'blue'])[1 + n % 2], 'deep', jsonb_build_object('a', n)), n % 3 = 0, n / 8.0
    FROM generate_series(1, 400) AS n;
  CREATE TABLE keys (key uuid, label text);
  INSERT INTO keys SELECT ('00000000-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid, 'label ' || n FROM generate_series(0, 30) AS n;
  CREATE TABLE "Mixed Case" ("Id" integer, "The Value" text, "select" integer);
  INSERT INTO "Mixed Case" SELECT n, 'v' || n, n % 2 FROM generate_series(1, 10) AS n;
  CREATE TABLE wide (${WIDE.map((name) => `${name} integer`).join(', ')});
  INSERT INTO wide SELECT ${WIDE.map((_, index) => `n + ${index}`).join(', ')} FROM generate_series(1, 20) AS n`

const MARIADB = `
  CREATE TABLE customers (id INT PRIMARY KEY, name VARCHAR(50), country CHAR(2), joined DATETIME, balance DECIMAL(10,3), is_active TINYINT(1), extra JSON);
  INSERT INTO customers VALUES (0, 'Ann', 'DE', '2023-01-05 10:00:00', 10.500, 1, '{"level": 1}'), (1, 'ann', 'de', '2023-02-05 11:00:00', -3.250, 0, '{"level": 2}'),
    (2, 'Bob ', 'FR', NULL, NULL, 1, NULL), (3, NULL, 'FR', '2023-03-01 00:00:00', 0.001, NULL, '{"level": 1}'), (4, 'Čenek', 'CZ', '2024-02-29 23:59:59', 99.999, 1, '{}'),
    (5, 'Zoë', 'NL', '2022-12-31 12:00:00', 5.000, 0, '{"level": 3}'), (20, 'nobody', 'DE', '2024-01-01 00:00:00', 1.000, 1, NULL)`

const COPIED: Readonly<Record<string, string>> = {
  orders: 'pg.orders',
  keys: 'pg.keys',
  mixed: 'pg."Mixed Case"',
  wide: 'pg.wide',
  customers: 'my.customers',
}

/** `{orders}` is replaced with the table there, or with its copy. */
const STATEMENTS = [
  'SELECT customer, count(*) FROM {orders} WHERE amount > 10 GROUP BY 1 ORDER BY 1',
  'SELECT customer, sum(amount) AS total, avg(amount), min(placed), max(shipped) FROM {orders} GROUP BY customer HAVING count(*) > 40 ORDER BY total DESC',
  "SELECT date_trunc('month', placed) AS month, count(*) AS n, sum(amount) FROM {orders} GROUP BY month ORDER BY month",
  "SELECT date_trunc('week', shipped) AS w, status, count(*) FROM {orders} GROUP BY ALL ORDER BY ALL",
  "SELECT CASE WHEN amount > 100 THEN 'big' WHEN amount IS NULL THEN 'none' ELSE 'small' END AS size, count(*) AS n FROM {orders} GROUP BY size ORDER BY n DESC, size",
  'SELECT id, amount, sum(amount) OVER (PARTITION BY customer ORDER BY id) AS running FROM {orders} WHERE customer < 3 ORDER BY id',
  'SELECT * FROM (SELECT id, customer, row_number() OVER (PARTITION BY customer ORDER BY amount DESC NULLS LAST, id) AS r FROM {orders}) WHERE r <= 2 ORDER BY customer, r',
  'SELECT id, customer FROM {orders} QUALIFY rank() OVER (PARTITION BY customer ORDER BY amount DESC NULLS LAST) = 1 ORDER BY 2, 1',
  'SELECT id, lag(amount) OVER (ORDER BY id) AS before, amount - lag(amount) OVER (ORDER BY id) AS change FROM {orders} WHERE id BETWEEN 5 AND 15 ORDER BY id',
  'WITH big AS (SELECT * FROM {orders} WHERE amount > 200), per AS (SELECT customer, count(*) AS n FROM big GROUP BY customer) SELECT c.name, p.n FROM per p LEFT JOIN {customers} c ON c.id = p.customer ORDER BY p.n DESC, c.name NULLS FIRST',
  'SELECT c.name, o.id FROM {customers} c LEFT JOIN {orders} o ON o.customer = c.id AND o.amount > 240 ORDER BY c.id, o.id',
  'SELECT c.country, count(DISTINCT o.customer) AS customers, sum(o.amount) AS total FROM {orders} o JOIN {customers} c ON o.customer = c.id GROUP BY c.country ORDER BY total DESC',
  "SELECT upper(trim(name)) AS n, length(name), left(name, 2), reverse(name), replace(name, 'n', 'N'), concat(name, '-', country) FROM {customers} ORDER BY id",
  "SELECT name FROM {customers} WHERE lower(name) = 'ann' ORDER BY name",
  "SELECT name, country FROM {customers} WHERE country = 'de' OR name ILIKE 'b%' ORDER BY 1",
  'SELECT DISTINCT status FROM {orders} ORDER BY status NULLS FIRST',
  'SELECT DISTINCT ON (customer) customer, id FROM {orders} ORDER BY customer, id DESC',
  'SELECT DISTINCT country, is_active FROM {customers} ORDER BY ALL NULLS LAST',
  'SELECT status, count(*) AS n FROM {orders} GROUP BY status HAVING n > 99 ORDER BY n, status NULLS LAST',
  "SELECT 'order' AS kind, id::BIGINT AS id FROM {orders} WHERE id < 4 UNION ALL SELECT 'customer', id FROM {customers} ORDER BY 1, 2",
  'SELECT customer FROM {orders} INTERSECT SELECT id FROM {customers} ORDER BY 1',
  'SELECT id FROM {customers} EXCEPT SELECT customer FROM {orders} ORDER BY 1',
  'SELECT amount FROM {orders} ORDER BY amount DESC NULLS LAST, id LIMIT 7',
  'SELECT amount, id FROM {orders} ORDER BY amount ASC NULLS FIRST, id LIMIT 30 OFFSET 3',
  "PIVOT (SELECT customer, status, amount FROM {orders}) ON status IN ('new', 'paid') USING sum(amount) GROUP BY customer ORDER BY customer",
  'SELECT * FROM (PIVOT {orders} ON status USING count(*) GROUP BY customer) ORDER BY customer',
  'SELECT c.id, l.id AS last, l.amount FROM {customers} c, LATERAL (SELECT id, amount FROM {orders} o WHERE o.customer = c.id ORDER BY o.id DESC LIMIT 1) l ORDER BY c.id',
  'SELECT c.name, (SELECT max(o.amount) FROM {orders} o WHERE o.customer = c.id) AS most FROM {customers} c ORDER BY c.id',
  'SELECT c.name FROM {customers} c WHERE EXISTS (SELECT 1 FROM {orders} o WHERE o.customer = c.id AND o.amount > 245) ORDER BY c.id',
  'SELECT id FROM {orders} WHERE customer IN (SELECT id FROM {customers} WHERE balance > 5) ORDER BY id DESC LIMIT 5',
  'SELECT id FROM {orders} o WHERE amount > (SELECT avg(amount) FROM {orders} i WHERE i.customer = o.customer) ORDER BY id',
  'SELECT "Id", "the value", "select" FROM {mixed} WHERE "Id" > 7 ORDER BY "Id"',
  'SELECT m."The Value" AS "My Value", count(*) OVER () FROM {mixed} m WHERE m."select" = 1 ORDER BY "My Value" LIMIT 3',
  'SELECT * FROM {wide} WHERE c299 = 305',
  'SELECT sum(c0), max(c150), c299 % 2 AS odd FROM {wide} GROUP BY odd ORDER BY odd',
  "SELECT attributes->>'color' AS color, count(*) AS n, max((attributes->>'size')::INTEGER) FROM {orders} GROUP BY 1 ORDER BY 1",
  "SELECT id, json_extract(attributes, '$.deep.a') AS a FROM {orders} WHERE json_extract_string(attributes, '$.size') = '3' ORDER BY id LIMIT 4",
  "SELECT extra->>'$.level' AS level, count(*) FROM {customers} GROUP BY level ORDER BY level NULLS FIRST",
  "SELECT id, tags[1] AS first, len(tags) FROM {orders} WHERE list_contains(tags, 't2') ORDER BY id LIMIT 5",
  'SELECT t, count(*) AS n FROM (SELECT unnest(tags) AS t FROM {orders}) GROUP BY t ORDER BY n DESC, t',
  'SELECT k.label, count(o.id) AS n FROM {keys} k LEFT JOIN {orders} o ON o.key = k.key GROUP BY k.label ORDER BY n DESC, label LIMIT 8',
  "SELECT id FROM {orders} WHERE key = '00000000-0000-0000-0000-000000000007' ORDER BY id LIMIT 3",
  "SELECT id, placed FROM {orders} WHERE placed >= '2024-01-02 00:00:00+05:30' AND placed < TIMESTAMPTZ '2024-01-03 00:00:00-08' ORDER BY id",
  "SELECT id, placed AT TIME ZONE 'America/New_York' AS local, extract(hour FROM placed) AS h FROM {orders} WHERE id < 5 ORDER BY id",
  "SELECT strftime(joined, '%Y-%m') AS m, count(*) FROM {customers} WHERE joined >= '2023-01-01' GROUP BY 1 ORDER BY 1",
  "SELECT id FROM {orders} WHERE placed > now() - INTERVAL '5 years' AND shipped >= current_date - 3000 ORDER BY id",
  'SELECT name FROM {customers} WHERE joined > today() - INTERVAL 10 YEAR ORDER BY name',
  "SELECT name, joined FROM {customers} WHERE joined > DATE '2023-12-31' ORDER BY joined",
  "SELECT coalesce(name, '-') AS name, balance * 1.19 AS gross, round(balance, 1) FROM {customers} ORDER BY id",
  'SELECT is_paid, count(*) FILTER (WHERE amount > 100) AS many, sum(weight) > 100 AS heavy FROM {orders} GROUP BY is_paid ORDER BY 1',
  "SELECT string_agg(name, ', ' ORDER BY name) AS names, array_agg(id ORDER BY id) FROM {customers} WHERE country <> 'CZ'",
  'SELECT count(*), count(amount), count(DISTINCT customer), min(amount), max(weight), median(amount) FROM {orders}',
  'SELECT a.id FROM {orders} a JOIN {orders} b ON a.id = b.id + 1 WHERE b.amount > 245 ORDER BY 1',
  "SELECT shipped - DATE '2024-01-01' AS days, count(*) FROM {orders} WHERE shipped IS NOT NULL GROUP BY days ORDER BY days LIMIT 5",
  'SELECT o.* EXCLUDE (attributes, tags) FROM {orders} o WHERE id IN (3, 5, 7) ORDER BY id',
  'SELECT * REPLACE (upper(name) AS name) FROM {customers} ORDER BY id LIMIT 2',
  "SELECT COLUMNS('c1.$') FROM {wide} ORDER BY ALL LIMIT 2",
  'SELECT count(*) FROM {orders}, {customers}',
  'FROM {customers} SELECT name WHERE id = 1',
  'SELECT customer AS c, count(*) AS n FROM {orders} WHERE c IS NOT NULL GROUP BY c ORDER BY n DESC, c',
  'SELECT customer % 2 = 0 AS even, grouping(customer) AS g, count(*) FROM {orders} GROUP BY ROLLUP (customer) ORDER BY ALL',
  "SELECT f.label, o.id FROM {orders} o JOIN (VALUES (3, 'three'), (5, 'five')) AS f(id, label) ON f.id = o.id ORDER BY 2",
  'WITH RECURSIVE r AS (SELECT id FROM {orders} WHERE id = 1 UNION ALL SELECT o.id FROM {orders} o JOIN r ON o.id = r.id * 2) SELECT * FROM r ORDER BY id',
  'UNPIVOT (SELECT id, balance::DOUBLE AS balance, is_active::DOUBLE AS active FROM {customers}) ON balance, active INTO NAME what VALUE v ORDER BY id, what',
]

describe.skipIf(postgres === null || mariadb === null)('statements of analysts', () => {
  beforeAll(async () => {
    await postgres?.run(POSTGRES)
    await mariadb?.run(MARIADB)
    app = await createTestApp({ environment: { EIDER_NETWORK_ALLOW: '127.0.0.1' } })
    const catalog = app.store.dataSourceCatalog
    const [pg, my] = [postgres?.parameters ?? {}, mariadb?.parameters ?? {}]
    await catalog.createDataSource({ name: 'pg', engine: 'postgres', parameters: pg })
    await catalog.createDataSource({ name: 'my', engine: 'mysql', parameters: my })
    for (const [name, table] of Object.entries(COPIED)) {
      expect(await answer(`CREATE TABLE ${name} AS SELECT * FROM ${table}`)).toContain('ok')
    }
  }, 180_000)

  afterAll(async () => {
    await app.close()
    await postgres?.stop()
    await mariadb?.stop()
  })

  test('groups over decimals are made there', async () => {
    const sql = 'SELECT customer, count(*) FROM pg.orders WHERE amount > 10 GROUP BY 1'
    expect(await answer(`EXPLAIN ${sql}`)).toContain('GROUP BY')
  })

  test.each(STATEMENTS)('%s', async (statement) => {
    const far = put(statement, (name) => COPIED[name] ?? '')
    const near = put(statement, (name) => name)
    const rows = await answer(near)
    expect(rows).toContain('column_names')
    expect(await answer(far)).toEqual(rows)
    if (!/^(PIVOT|UNPIVOT)/.test(statement)) {
      expect(await answer(`DESCRIBE ${far}`)).toEqual(await answer(`DESCRIBE ${near}`))
    }
  })
})

function put(statement: string, tableOf: (name: string) => string): string {
  return statement.replaceAll(/\{(\w+)\}/g, (_, name) => tableOf(name))
}

async function answer(query: string): Promise<string> {
  const { body } = await app.send('POST', '/api/sql/query', { query })
  return JSON.stringify(body).replaceAll('],[', '],\n[')
}
