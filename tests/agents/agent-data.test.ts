import { describe, expect, test } from 'bun:test'
import { agentData, namedKnowledgeBases } from '../../src/agents/data/agent-data.ts'
import { matchesGlob } from '../../src/agents/data/remote-table-names.ts'
import { systemPrompt } from '../../src/agents/questions/prompt.ts'
import { toolSpecs } from '../../src/agents/tools/tools.ts'
import { fullName } from '../../src/core/domain/names.ts'
import { agentNamed, fileNamed, kbNamed, snapshotOf } from './agent-fixture.ts'

const SNAPSHOT = snapshotOf({
  knowledgeBases: [
    kbNamed('mindsdb.docs'),
    kbNamed('mindsdb.Docs Archive'),
    kbNamed('shop.docs'),
    kbNamed('shop.orders'),
  ],
  files: [fileNamed('prices'), fileNamed('people')],
})

function resolved(knowledgeBases: readonly string[], tables: readonly string[] = []) {
  const agent = agentNamed('helper', { data: { knowledgeBases, tables } })
  const data = agentData(agent, SNAPSHOT)
  return { ...data, knowledgeBases: data.knowledgeBases.map(fullName) }
}

describe('agentData', () => {
  test('a full name means one knowledge base, without case', () => {
    expect(resolved(['SHOP.Docs']).knowledgeBases).toEqual(['shop.docs'])
  })

  test("a name alone belongs to the agent's project", () => {
    expect(resolved(['docs']).knowledgeBases).toEqual(['mindsdb.docs'])
    expect(resolved(['orders'])).toMatchObject({
      knowledgeBases: [],
      warnings: ['No knowledge base found: orders'],
    })
  })

  test('globs match any characters and one', () => {
    expect(resolved(['mindsdb.*']).knowledgeBases).toEqual(['mindsdb.docs', 'mindsdb.Docs Archive'])
    expect(resolved(['*.doc?']).knowledgeBases).toEqual(['mindsdb.docs', 'shop.docs'])
    expect(resolved(['shop.?*d*s']).knowledgeBases).toEqual(['shop.orders'])
  })

  test('a name that occurs twice counts once', () => {
    expect(resolved(['mindsdb.docs', 'docs', '*.docs']).knowledgeBases).toEqual([
      'mindsdb.docs',
      'shop.docs',
    ])
  })

  test('each name without a match becomes a warning', () => {
    const { warnings } = resolved(['nowhere.docs', 'a.b.c'], ['files.nothing', 'prices'])
    expect(warnings).toEqual([
      'No knowledge base found: nowhere.docs',
      'No knowledge base found: a.b.c',
      'No table found: files.nothing',
      'No table found: prices',
    ])
  })

  test('tables are uploaded files', () => {
    expect(resolved([], ['FILES.p*']).tables).toEqual(['files.prices', 'files.people'])
  })

  test('an agent without data may read nothing', () => {
    const data = agentData(agentNamed('helper', { data: null }), SNAPSHOT)
    expect(data).toMatchObject({ knowledgeBases: [], tables: [] })
    expect(data.warnings).toEqual(['Agent helper has no data to read'])
  })
})

describe('matchesGlob', () => {
  test('matches a hostile pattern quickly', () => {
    expect(matchesGlob(`${'*a'.repeat(140)}b`, 'a'.repeat(128))).toBe(false)
  })

  test.each([
    ['', '', true],
    ['', 'a', false],
    ['*', '', true],
    ['?', '', false],
    ['?', '🦆', true],
    ['a*', 'ba', false],
    ['*.sql', 'x.sql', true],
    ['(a+)+', 'aaa', false],
  ])('%p and %p: %p', (pattern, name, expected) => {
    expect(matchesGlob(pattern, name)).toBe(expected)
  })
})

describe('systemPrompt', () => {
  test('holds the instruction, the names and the warnings', () => {
    const data = { knowledgeBases: ['mindsdb.docs', 'mindsdb.gone'], tables: ['files.prices'] }
    const agent = agentNamed('helper', { promptTemplate: 'You help the shop.', data })
    const prompt = systemPrompt(agent, agentData(agent, SNAPSHOT), { fence: 'f00d' })
    expect(prompt).toContain('You help the shop.')
    expect(prompt).toContain('- mindsdb.docs\n')
    expect(prompt).toContain('- files.prices\n')
    expect(prompt).toContain('Warning: No knowledge base found: mindsdb.gone')
  })

  test('does not grow with the catalog without bound', () => {
    const knowledgeBases = Array.from({ length: 5000 }, (_, index) => kbNamed(`mindsdb.kb${index}`))
    const agent = agentNamed('helper', { data: { knowledgeBases: ['*'], tables: [] } })
    const prompt = systemPrompt(agent, agentData(agent, snapshotOf({ knowledgeBases })), {
      fence: 'f00d',
    })
    expect(prompt).toContain('and 4900 more')
    expect(prompt.length).toBeLessThan(10_000)
  })
})

test('tools for tables are offered to agents with tables only', () => {
  const without = toolSpecs({ knowledgeBases: [], tables: [], warnings: [] })
  const names = ['kb_list_tool', 'kb_info_tool', 'kb_query_tool']
  expect(without.map((tool) => tool.name)).toEqual(names)
  const tables = toolSpecs({ knowledgeBases: [], tables: ['files.a'], warnings: [] })
  expect(tables.map((tool) => tool.name)).toEqual([
    ...names,
    'sql_db_list_tables',
    'sql_db_schema',
    'sql_db_query',
    'metadata_values_tool',
    'chart_tool',
  ])
})

test.each([
  ['SELECT * FROM docs', ['mindsdb.docs']],
  ['SELECT * FROM "mindsdb" . `docs`', ['mindsdb.docs']],
  ['SELECT * FROM shop.docs', ['shop.docs']],
  ['SELECT * FROM shop.docs d JOIN docs e USING (id)', ['mindsdb.docs', 'shop.docs']],
  ['SELECT * FROM "Docs Archive"', ['mindsdb.docs', 'mindsdb.Docs Archive']],
  ['SELECT * FROM docs2, my_docs, x.docs', []],
])('%s names its knowledge bases', (sql, expected) => {
  const named = namedKnowledgeBases(sql, SNAPSHOT.knowledgeBases, 'mindsdb')
  expect(named.map(fullName)).toEqual(expected)
})
