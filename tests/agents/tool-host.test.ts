import { describe, expect, test } from 'bun:test'
import type { Select, SelectScope } from '../../src/agents/data/agent-data.ts'
import { ToolHost } from '../../src/agents/tools/tool-host.ts'
import { rowsOf } from '../../src/core/domain/query-result.ts'
import { AppError } from '../../src/core/errors.ts'
import { kbNamed, NO_SIGNAL } from './agent-fixture.ts'

const DOCS = kbNamed('mindsdb.docs')
const ORDERS = kbNamed('shop.my orders')
const DATA = { knowledgeBases: [DOCS, ORDERS], tables: ['files.prices'], warnings: [] }

const COLUMNS = ['id', 'chunk_id', 'chunk_content', 'relevance'] as const
/** The columns of the statement that looks up chunks. */
const STORED = ['source', 'id', 'chunk_id', 'chunk_content', 'metadata'] as const
const CHUNK_ID = '7:content:1of1:0to9'

function hostWith(select: Select, data = DATA, observationBytesMax = 32_768) {
  return new ToolHost({ data, project: 'mindsdb', select, observationBytesMax })
}

/** Remembers its requests and answers with one row. */
function recordedSelect() {
  const asked: { sql: string; scope: SelectScope }[] = []
  const select: Select = async (sql, scope) => {
    asked.push({ sql, scope })
    return rowsOf(COLUMNS, [['7', CHUNK_ID, '30 days.', 0.9]])
  }
  return { asked, select }
}

const failing =
  (error: unknown): Select =>
  async () => {
    throw error
  }

function run(host: ToolHost, name: string, input = '') {
  return host.run({ name, input }, NO_SIGNAL)
}

describe('ToolHost', () => {
  test('kb_list_tool names the knowledge bases as JSON', async () => {
    const host = hostWith(recordedSelect().select)
    expect(await run(host, 'kb_list_tool')).toBe('["mindsdb.docs","shop.my orders"]')
    const empty = hostWith(recordedSelect().select, { ...DATA, knowledgeBases: [] })
    expect(await run(empty, 'kb_list_tool')).toBe('No knowledge bases found.')
  })

  test('kb_list_tool cuts a long list between names and counts the rest', async () => {
    const knowledgeBases = Array.from({ length: 100 }, (_, index) => kbNamed(`mindsdb.kb${index}`))
    const host = hostWith(recordedSelect().select, { ...DATA, knowledgeBases }, 400)
    const text = await run(host, 'kb_list_tool')
    const [list = '', note] = text.split('\n')
    expect(JSON.parse(list)).toBeArrayOfSize(20)
    expect(note).toBe('(80 more names, cut at 400 bytes)')
  })

  test("kb_query_tool runs the statement over the agent's data only", async () => {
    const { asked, select } = recordedSelect()
    const sql = "SELECT * FROM docs WHERE content = 'returns'"
    const text = await run(hostWith(select), 'kb_query_tool', sql)
    expect(text).toEndWith(`id,chunk_id,chunk_content,relevance\r\n7,${CHUNK_ID},30 days.,0.9\r\n`)
    const { knowledgeBases, tables } = DATA
    const scope = { project: 'mindsdb', allowed: { knowledgeBases, tables } }
    expect(asked).toEqual([{ sql, scope }])
  })

  test('a statement may be fenced as Markdown', async () => {
    const { asked, select } = recordedSelect()
    await run(hostWith(select), 'kb_query_tool', '```sql\nSELECT 1\n```')
    expect(asked[0]?.sql).toBe('SELECT 1')
  })

  test('the model gets a failed query with a hint', async () => {
    const select = failing(new AppError('sql_forbidden', 'secret.kb is not available here'))
    expect(await run(hostWith(select), 'kb_query_tool', 'SELECT 1')).toBe(
      'Error executing knowledge base query: secret.kb is not available here. ' +
        'Please check that the knowledge base exists and your query syntax is correct.',
    )
    expect(await run(hostWith(select), 'sql_db_query', 'SELECT 1')).toBe(
      'Error: secret.kb is not available here',
    )
  })

  test('a statement that is too long is refused before it runs', async () => {
    const { asked, select } = recordedSelect()
    const text = await run(hostWith(select), 'kb_query_tool', `SELECT '${'x'.repeat(70_000)}'`)
    expect(text).toContain('at most 65536 characters')
    expect(asked).toEqual([])
  })

  test('a bug and an abort are not observations', async () => {
    const bug = new TypeError('x is not a function')
    await expect(run(hostWith(failing(bug)), 'kb_query_tool', 'SELECT 1')).rejects.toBe(bug)
    const abort = AbortSignal.abort(new AppError('cancelled', 'gone'))
    const host = hostWith(failing(new AppError('sql_failed', 'interrupted')))
    const cancelled = host.run({ name: 'kb_query_tool', input: 'SELECT 1' }, abort)
    await expect(cancelled).rejects.toMatchObject({ code: 'cancelled' })
  })

  test('kb_info_tool describes what the agent may read, and names the rest', async () => {
    const { asked, select } = recordedSelect()
    const input = "$START$ docs, 'shop.my orders', secret.kb $STOP$"
    const text = await run(hostWith(select), 'kb_info_tool', input)
    expect(text).toContain('Knowledge base mindsdb.docs')
    expect(text).toContain('Knowledge base shop.my orders')
    expect(text).toContain('secret.kb is not available here. Available: ')
    expect(asked.map(({ sql }) => sql)).toContain('SELECT * FROM "shop"."my orders" LIMIT 3')
  })

  test('sql_db_list_tables and sql_db_schema describe tables', async () => {
    const host = hostWith(recordedSelect().select)
    expect(await run(host, 'sql_db_list_tables')).toBe('["files.prices"]')
    const text = await run(host, 'sql_db_schema', 'prices')
    expect(text).toStartWith('Table files.prices\nColumns: id VARCHAR, chunk_id VARCHAR')
  })
})

describe('citations', () => {
  const cited = (host: ToolHost, answer: string) => host.citations(answer, NO_SIGNAL)
  const citation = {
    knowledge_base: 'mindsdb.docs',
    document_id: '7',
    chunk_id: CHUNK_ID,
    text: '30 days.',
    start: null,
    end: null,
    page: null,
    heading: null,
    relevance: 0.9,
  }

  test('are the chunks that the answer names and a query has shown', async () => {
    const host = hostWith(recordedSelect().select)
    await run(host, 'kb_query_tool', 'SELECT * FROM docs')
    expect(await cited(host, `You have 30 days [${CHUNK_ID}].`)).toEqual([citation])
    expect(await cited(host, `[other, ${CHUNK_ID}]`)).toEqual([citation])
    expect(host.context).toEqual(['30 days.'])
  })

  test('leave out what was invented, and longer ids that contain a real one', async () => {
    const host = hostWith(recordedSelect().select)
    await run(host, 'kb_query_tool', 'SELECT * FROM docs')
    for (const invented of [
      '8:content:1of1:0to9',
      `1${CHUNK_ID}`,
      `${CHUNK_ID}0`,
      `a ${CHUNK_ID}`,
    ]) {
      expect(await cited(host, `So it is [${invented}]`)).toEqual([])
    }
    expect(await cited(host, `${CHUNK_ID} without brackets`)).toEqual([])
  })

  test('include values that the statement did not select', async () => {
    const asked: string[] = []
    const select: Select = async (sql) => {
      asked.push(sql)
      if (sql.startsWith('SELECT chunk_id')) return rowsOf(['chunk_id'], [[CHUNK_ID]])
      return rowsOf(STORED, [[0, '7', CHUNK_ID, '30 days.', {}]])
    }
    const host = hostWith(select)
    await run(host, 'kb_query_tool', 'SELECT chunk_id FROM docs')
    expect(await cited(host, `[${CHUNK_ID}]`)).toEqual([{ ...citation, relevance: null }])
    expect(asked[1]).toBe(
      'SELECT 0 AS source, id, chunk_id, chunk_content, metadata FROM "mindsdb"."docs" ' +
        `WHERE chunk_id IN ('${CHUNK_ID}')`,
    )
  })

  test('distinguish two knowledge bases by the text', async () => {
    const select: Select = async (sql) => {
      if (!sql.includes('WHERE chunk_id IN')) {
        return rowsOf(['id', 'chunk_id', 'chunk_content'], [['7', CHUNK_ID, '30 days.']])
      }
      const texts = ['Other.', '30 days.']
      return rowsOf(
        STORED,
        texts.map((text, index) => [index, '7', CHUNK_ID, text, {}]),
      )
    }
    const host = hostWith(select)
    await run(host, 'kb_query_tool', 'SELECT * FROM docs UNION ALL SELECT * FROM shop."my orders"')
    const [found] = await cited(host, `[${CHUNK_ID}]`)
    expect(found?.knowledge_base).toBe('shop.my orders')
  })

  test('are left out if the chunk was deleted', async () => {
    let isGone = false
    const host = hostWith(async () => {
      if (isGone) throw new AppError('sql_unknown_name', 'no such table')
      return rowsOf(['chunk_id'], [[CHUNK_ID]])
    })
    await run(host, 'kb_query_tool', 'SELECT chunk_id FROM docs')
    isGone = true
    expect(await cited(host, `[${CHUNK_ID}]`)).toEqual([])
  })
})
