/** Citations over HTTP: a model reads chunks of real knowledge bases and writes about them. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../support/test-app.ts'
import { askScripted, calls, type ScriptedAnswer, says } from './ask-scripted.ts'

const MANUAL = [
  '# Manual',
  'This manual is about the Teapot 3000.',
  '## Returns',
  "You may return a teapot within **30 days**. Bring the [bill](https://shop.example/bill), the box and the lid; we don't take pots without one.",
  '### Broken pots',
  'A broken pot is replaced once. Send a picture to the workshop before you send the pot.',
  '## Sizes',
  '| size | litres |',
  '|------|--------|',
  '| small | 0.5 |',
  '| large | 1.75 |',
]
  .join('\n\n')
  .replaceAll('|\n\n|', '|\n|')

const PAGED = 'The warranty is two years. It covers the handle.'

const KBS = '/api/projects/mindsdb/knowledge_bases'

let app: TestApp
let chunkId: string

beforeAll(async () => {
  app = await createTestApp()
  const markdown = { type: 'markdown_chunking' }
  const bases = [
    { name: 'manuals', preprocessing: markdown },
    { name: 'facts' },
    { name: 'copies' },
    { name: 'plain' },
  ]
  for (const base of bases) await app.send('POST', KBS, { knowledge_base: base })
  const insert = (kb: string, rows: readonly object[]) => {
    return app.send('PUT', `${KBS}/${kb}`, { knowledge_base: { rows } })
  }
  await insert('manuals', [{ id: 'pot', content: MANUAL }])
  await insert('facts', [{ id: 'w/1 (a)', content: PAGED, page: 12, heading: 'Warranty' }])
  await insert('plain', [{ id: 'pot', content: MANUAL }])
  await insert('copies', [{ id: 'w/1 (a)', content: 'Another text under the same id.' }])
  const [row] = await app.rows('SELECT chunk_id FROM manuals')
  chunkId = String(row?.[0])
})
afterAll(() => app.close())

const QUERY =
  "SELECT id, chunk_id, chunk_content, relevance FROM manuals WHERE content = 'pot' LIMIT 3"

async function cited(answer: string, sql = QUERY, kbs: readonly string[] = ['mindsdb.*']) {
  const turns = [calls('kb_query_tool', { sql_query: sql }), says(answer)]
  const { message } = await askScripted(app, { data: { knowledge_bases: kbs }, turns })
  for (const { text, start, end, document_id } of message.citations) {
    const document = document_id === 'pot' ? MANUAL : PAGED
    expect(document.slice(start ?? -1, end ?? -1)).toBe(text)
  }
  return message.citations
}

async function quotesIn(answer: string, sql = QUERY): Promise<readonly string[]> {
  return (await cited(answer, sql)).map(({ text }) => text)
}

describe('a citation', () => {
  test('is the quote with its place in the document', async () => {
    const [citation] = await cited(`“You may return a teapot within 30 days” [${chunkId}].`)
    const start = MANUAL.indexOf('You may return')
    expect(citation).toMatchObject({
      knowledge_base: 'mindsdb.manuals',
      document_id: 'pot',
      chunk_id: chunkId,
      text: 'You may return a teapot within **30 days**.',
      start,
      page: null,
      heading: 'Manual > Returns',
      relevance: expect.any(Number),
    })
  })

  test('has the page and the heading of its chunk, also where they were not selected', async () => {
    const id = `w/1 (a):content:1of1:0to${PAGED.length}`
    const sql = "SELECT chunk_id, relevance FROM facts WHERE content = 'warranty'"
    const [citation] = await cited(`It is two years (${id})`, sql)
    expect(citation).toMatchObject({
      page: 12,
      heading: 'Warranty',
      text: 'The warranty is two years.',
    })
    const whole = await cited(`It is two years (${id})`, "SELECT * FROM facts WHERE content = 'x'")
    expect(whole).toEqual([{ ...citation, relevance: whole[0]?.relevance }] as typeof whole)
  })

  test('of a deeper section names all headings above it', async () => {
    const [citation] = await cited(`"A broken pot is replaced once." [${chunkId}]`)
    expect(citation?.heading).toBe('Manual > Returns > Broken pots')
  })

  test('has the headings in its chunk where the text was not cut at headings', async () => {
    const sql = "SELECT chunk_id, chunk_content FROM plain WHERE content = 'pot'"
    const id = `pot:content:1of1:0to${MANUAL.length}`
    const [citation] = await cited(`"A broken pot is replaced once." [${id}]`, sql)
    expect(citation?.heading).toBe('Manual > Returns > Broken pots')
  })
})

describe('a quote is found', () => {
  const RETURNS = 'You may return a teapot within **30 days**. Bring the [bill]'
  const CASES: readonly (readonly [string, string, string])[] = [
    [
      'in bold',
      '**A broken pot is replaced once.** Send a picture',
      'A broken pot is replaced once. Send a picture',
    ],
    [
      'as a block',
      '> **A broken pot is replaced once.**\n> Send a picture to the workshop\n\n',
      'A broken pot is replaced once. Send a picture to the workshop',
    ],
    [
      'in other quotation marks',
      'Es heißt: „A broken pot is replaced once“',
      'A broken pot is replaced once.',
    ],
    ['in guillemets', '« A broken pot is replaced once »', 'A broken pot is replaced once.'],
    [
      'with other white space and case',
      '"a  broken\tpot is REPLACED once"',
      'A broken pot is replaced once.',
    ],
    [
      'through marks of the chunk',
      '"return a teapot within 30 days. Bring the bill, the box and the lid"',
      MANUAL.slice(MANUAL.indexOf('return a'), MANUAL.indexOf('; we')),
    ],
    [
      'with another apostrophe',
      '"we don’t take pots without one"',
      "we don't take pots without one.",
    ],
    [
      'with words left out',
      '"A broken pot … to the workshop before you send the pot"',
      'to the workshop before you send the pot.',
    ],
    [
      'without marks, word for word',
      'The rule: Send a picture to the workshop before you send the pot.',
      'Send a picture to the workshop before you send the pot.',
    ],
    [
      'as a row of a table with its header',
      '> | size | litres |\n> | **large** | **1.75** |',
      '| large | 1.75 |',
    ],
    [
      'as a short row below its header, without bold',
      '> | size | litres |\n> |---|---|\n> | large | 1.75 |\n',
      '| large | 1.75 |',
    ],
  ]
  for (const [how, answer, quote] of CASES) {
    test(how, async () => expect(await quotesIn(`${answer} [${chunkId}]`)).toEqual([quote]))
  }

  test('twice where two are taken from one chunk, once where one is repeated', async () => {
    const first = `"A broken pot is replaced once" [${chunkId}]`
    const answer = `${first} and "You may return a teapot within 30 days" [${chunkId}]. ${first}`
    expect(await quotesIn(answer)).toEqual([
      'A broken pot is replaced once.',
      RETURNS.slice(0, RETURNS.indexOf(' Bring')),
    ])
  })
})

describe('a chunk that is only named', () => {
  test('is cited with the sentence that fits', async () => {
    const quotes = await quotesIn(
      `If it breaks you get another pot, replaced one time [${chunkId}].`,
    )
    expect(quotes).toEqual(['A broken pot is replaced once.'])
  })

  test('is cited by its beginning where nothing fits', async () => {
    const [quote = ''] = await quotesIn(`[${chunkId}]`)
    expect(MANUAL).toStartWith(quote)
    expect(quote.length).toBeLessThanOrEqual(400)
  })

  test('has its statement behind it where it begins the sentence', async () => {
    const quotes = await quotesIn(`According to [${chunkId}] a picture goes to the workshop.`)
    expect(quotes[0]).toContain('Send a picture to the workshop')
  })
})

describe('what a model writes is recognised', () => {
  const FORMS = [
    '[ID]',
    '(ID)',
    '【ID】',
    '[ ID ]',
    '[[ID]]',
    '`ID`',
    '[`ID`]',
    '"ID"',
    '<ID>',
    '[chunk_id: ID]',
    '(chunk id: ID)',
    'Source: ID',
    'Sources:\n- chunk_id: ID.',
    '[x:content:1of1:0to9, ID]',
    '[ID; x:content:1of1:0to9]',
    '[ID†source]',
    '\\[ID\\]',
    '{"sources": ["ID"]}',
    '[ID](#1)',
    '[^ID]',
  ]
  for (const form of FORMS) {
    test(form, async () => {
      expect(await cited(`It is replaced once ${form.replaceAll('ID', chunkId)}`)).toHaveLength(1)
    })
  }
})

describe('no citation', () => {
  test('of a quote that is not in its chunk', async () => {
    expect(await cited(`"You may return a teapot within 60 days" [${chunkId}]`)).toEqual([])
    expect(await cited(`> A broken pot is never replaced.\n\n[${chunkId}]`)).toEqual([])
  })

  test('of a chunk that was not shown, or made up by the statement', async () => {
    expect(await cited('So it is [x:content:1of1:0to9]')).toEqual([])
    const made = `SELECT 'x' AS id, 'x:content:1of1:0to9' AS chunk_id, 'Made up.' AS chunk_content FROM manuals`
    expect(await cited('"Made up." [x:content:1of1:0to9]', made)).toEqual([])
    const other = `SELECT id, '${chunkId}' AS chunk_id, 'The pot is made of gold' AS chunk_content FROM manuals`
    expect(await cited(`"The pot is made of gold" [${chunkId}]`, other)).toEqual([])
  })

  test('has another text than the document', async () => {
    const upper = 'SELECT id, chunk_id, upper(chunk_content) AS chunk_content FROM manuals'
    expect(await quotesIn(`"A BROKEN POT IS REPLACED ONCE" [${chunkId}]`, upper)).toEqual([
      'A broken pot is replaced once.',
    ])
  })

  test('of a longer id that ends with a real one', async () => {
    expect(await cited(`[1${chunkId}] [${chunkId}0] [a ${chunkId}]`)).toEqual([])
  })
})

test('two knowledge bases with the same ids are distinguished', async () => {
  const id = `w/1 (a):content:1of1:0to${PAGED.length}`
  const sql =
    'SELECT chunk_id, chunk_content FROM facts UNION ALL SELECT chunk_id, chunk_content FROM copies'
  const [citation] = await cited(`[${id}] says two years.`, sql)
  expect(citation?.knowledge_base).toBe('mindsdb.facts')
})

test('the built-in agent cites what it quotes, with its place in the document', async () => {
  const agents = '/api/projects/mindsdb/agents'
  const agent = { name: 'quoter', data: { knowledge_bases: ['mindsdb.manuals'] } }
  expect(await app.send('POST', agents, { agent })).toMatchObject({ status: 201 })
  const messages = [{ role: 'user', content: 'What is a broken pot replaced with?' }]
  const { body } = await app.send('POST', `${agents}/quoter/completions`, { messages })
  const { content, citations } = (body as { message: ScriptedAnswer['message'] }).message
  expect(content).toContain('A broken pot is replaced once.')
  expect(citations.length).toBeGreaterThan(0)
  for (const { text, start, end } of citations) {
    expect(MANUAL.slice(start ?? -1, end ?? -1)).toBe(text)
  }
  expect(citations.map(({ text }) => text).join()).toContain('A broken pot is replaced once.')
})
