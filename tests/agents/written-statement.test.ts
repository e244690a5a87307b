import { describe, expect, test } from 'bun:test'
import { dataReader } from '../../src/agents/data/agent-data.ts'
import { statementIn, withHint } from '../../src/agents/tools/written-statement.ts'
import { rowsOf } from '../../src/core/domain/query-result.ts'
import { kbNamed, NO_SIGNAL } from './agent-fixture.ts'

const SQL = "SELECT id FROM kb WHERE content = 'x'"

describe('statementIn finds the statement', () => {
  test.each([
    SQL,
    `\`\`\`sql\n${SQL}\n\`\`\``,
    `\`\`\`\n${SQL}\n\`\`\``,
    `Here it is:\n\n\`\`\`sql\n${SQL}\n\`\`\`\nIt finds the ids.`,
    `I will look it up:\n${SQL}`,
    `$START$ ${SQL} $STOP$`,
    `SQLQuery: ${SQL}`,
    `sql_query = ${SQL}`,
    JSON.stringify({ sql_query: SQL }),
    JSON.stringify({ query: SQL }),
    `\`\`\`sql\n${SQL}`,
  ])('in %j', (input) => expect(statementIn(input)).toBe(SQL))

  test.each([
    '-- a comment\nSELECT 1',
    '/* SELECT 2 */ SELECT 1;',
    '(SELECT 1) UNION (SELECT 2)',
    'FROM kb SELECT id',
    'WITH a AS (SELECT 1) SELECT * FROM a',
    'nothing of that kind',
    "SELECT '```sql\nSELECT 2\n```'",
  ])('and leaves %j as it is', (input) => expect(statementIn(input)).toBe(input))
})

describe('withHint', () => {
  const kb = kbNamed('mindsdb.docs', {
    storedMetadata: [{ name: 'year', type: 'BIGINT', column: 'm1' }],
  })
  const scope = { project: 'mindsdb', allowed: { knowledgeBases: [kb], tables: ['files.prices'] } }
  const reader = dataReader(scope, async () => rowsOf(['tea', 'price'], []))
  const hint = (message: string, sql: string) => withHint(message, sql, reader, NO_SIGNAL)

  test('names the existing columns', async () => {
    const sql = 'SELECT yeer FROM docs JOIN prices USING (id)'
    const text = await hint('Column "yeer" does not exist', sql)
    expect(text).toContain('mindsdb.docs has the columns id, chunk_id, chunk_content, metadata')
    expect(text).toContain('distance, year')
    expect(text).toContain('files.prices has the columns tea, price')
  })

  test.each([
    [
      'Function date_format is not available in SQL here',
      "SELECT date_format(day, '%Y')",
      'strftime',
    ],
    ['Function str_to_date is not available in SQL here', 'SELECT 1', 'strptime'],
    ['Only SELECT is allowed', 'UPDATE docs SET x = 1', 'you can only read'],
    ['not available here', 'SELECT * FROM information_schema.tables', 'sql_db_list_tables'],
    ['syntax error at 10', 'SELECT TOP 5 id FROM docs', 'LIMIT'],
  ])('%s', async (message, sql, expected) => {
    expect(await hint(message, sql)).toStartWith(`${message}\nHint: `)
    expect(await hint(message, sql)).toContain(expected)
  })

  test('gives no hint in doubtful cases', async () => {
    expect(await hint('Out of range', 'SELECT 1')).toBe('Out of range')
  })
})
