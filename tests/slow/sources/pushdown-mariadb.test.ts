/** What is pushed down to a real MariaDB gives the rows that DuckDB gives over copies of the tables. */
import { afterAll, beforeAll, describe, test } from 'bun:test'
import { testMariadb } from '../../support/database-servers.ts'
import { isEverything } from '../../support/sample.ts'
import { createTestApp, type TestApp } from '../../support/test-app.ts'
import { compareWithCopies, copyTables } from '../sql/pushdown-statements.ts'

const server = await testMariadb()
let app: TestApp

const TABLES = [
  `CREATE TABLE a (id bigint NOT NULL, i int, d decimal(10,2), f double, t varchar(20) COLLATE utf8mb4_general_ci,
    day date, ts datetime, ok varchar(5), u varchar(36), r float)`,
  `INSERT INTO a SELECT seq, IF(seq % 7 = 0, NULL, CAST(seq % 5 AS SIGNED) - 1), IF(seq % 11 = 0, NULL, (seq % 9) / 4),
    IF(seq % 8 = 0, NULL, (seq % 6) / 10),
    ELT(1 + seq % 12, 'a', 'A', 'a ', 'b', 'é', 'E', '', NULL, 'a%', 'ab', '😀', 'z'),
    IF(seq % 6 = 0, NULL, DATE '2024-01-01' + INTERVAL (seq % 4) DAY),
    IF(seq % 5 = 0, NULL, TIMESTAMP '2024-01-01 00:00:00' + INTERVAL (seq % 3) HOUR),
    IF(seq % 4 = 0, NULL, IF(seq % 3 = 0, 'true', 'false')),
    CONCAT('00000000-0000-0000-0000-00000000000', seq % 5), (seq % 3) / 10 FROM seq_0_to_119`,
  'CREATE TABLE b (id bigint, i int, t char(10))',
  `INSERT INTO b SELECT seq * 3, IF(seq % 4 = 0, NULL, seq % 6), ELT(1 + seq % 5, 'a', 'b', NULL, 'é', 'a ')
    FROM seq_0_to_24`,
]

describe.skipIf(server === null)('MariaDB', () => {
  beforeAll(async () => {
    for (const sql of TABLES) await server?.run(sql)
    app = await createTestApp({ environment: { EIDER_NETWORK_ALLOW: '127.0.0.1' } })
    const parameters = server?.parameters ?? {}
    await app.store.dataSourceCatalog.createDataSource({
      name: 'far',
      engine: 'mysql',
      parameters,
    })
    await copyTables(app, 'far')
  }, 180_000)

  afterAll(async () => {
    await app.close()
    await server?.stop()
  })

  test('statements over its tables and over their copies', async () => {
    await compareWithCopies(app, 'far', isEverything ? 600 : 200)
  }, 240_000)
})
