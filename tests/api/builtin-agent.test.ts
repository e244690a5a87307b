import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createTestApp, type TestApp, wordEmbedders } from '../support/test-app.ts'

const PROJECT = '/api/projects/mindsdb'

const GUIDE = `# Kettle

## Cleaning

Descale the kettle every month as follows:

\`\`\`sh
kettle --descale --minutes 20
\`\`\`

## Options

| Option | Default | Meaning |
|---|---|---|
| temperature | 95 | Degrees that the water is heated to |
| beeps | 3 | Beeps at the end |

## Why does it hum?

The plate grows faster than the wall around it. That is harmless.
`

let t: TestApp
beforeAll(async () => {
  t = await createTestApp({ embedders: wordEmbedders })
  const kbs = `${PROJECT}/knowledge_bases`
  await t.send('POST', kbs, {
    knowledge_base: { name: 'guides', metadata_columns: ['license', 'pages'] },
  })
  const rows = [
    { id: 'kettle', content: GUIDE, license: 'MIT', pages: 12 },
    {
      id: 'toaster',
      content: 'The toaster browns bread in two minutes.',
      license: 'ISC',
      pages: 4,
    },
    { id: 'mixer', content: 'The mixer stirs dough in ten minutes.', license: 'MIT', pages: 7 },
  ]
  await t.send('PUT', `${kbs}/guides`, { knowledge_base: { rows } })
  await t.send('POST', `${PROJECT}/agents`, {
    agent: { name: 'guide', data: { knowledge_bases: ['mindsdb.guides'] } },
  })
  await t.send('POST', kbs, { knowledge_base: { name: 'menus' } })
  const menus = ['Soup is served at noon.', 'Stew is served at night.']
  await t.send('PUT', `${kbs}/menus`, {
    knowledge_base: { rows: menus.map((content, id) => ({ id, content })) },
  })
  await t.send('POST', kbs, { knowledge_base: { name: 'licenses', metadata_columns: ['license'] } })
  const licenses = ['MIT', 'ISC', 'MIT'].map((license, id) => ({ id, content: license, license }))
  await t.send('PUT', `${kbs}/licenses`, { knowledge_base: { rows: licenses } })
  const lawyer = { name: 'lawyer', data: { knowledge_bases: ['mindsdb.licenses'] } }
  await t.send('POST', `${PROJECT}/agents`, { agent: lawyer })
  const query = `CREATE TABLE orders AS SELECT * FROM (VALUES
    ('soup', 3.0), ('soup', 4.0), ('soup', 5.0), ('stew', 9.0)) AS t(dish, price)`
  await t.send('POST', '/api/sql/query', { query })
  const tables = ['mindsdb.orders']
  const data = { knowledge_bases: ['mindsdb.guides', 'mindsdb.menus'], tables }
  await t.send('POST', `${PROJECT}/agents`, { agent: { name: 'all', data } })
  await t.send('POST', `${PROJECT}/agents`, { agent: { name: 'till', data: { tables } } })
})
afterAll(() => t.close())

interface Answer {
  readonly content: string
  readonly citations: readonly Record<string, unknown>[]
}
type Said = readonly [question: string, answer: string]

async function asked(
  question: string,
  history: readonly Said[] = [],
  agent = 'guide',
): Promise<Answer> {
  const turns = [...history, [question, ''] as const]
  const messages = turns.map(([one, answer]) => ({ question: one, answer }))
  const { body } = await t.send('POST', `${PROJECT}/agents/${agent}/completions`, { messages })
  return (body as { readonly message: Answer }).message
}

/** Returns the quotes without the line that names the chunk. */
const quotesIn = (content: string) => content.split('\n').filter((line) => line.startsWith('>'))

describe('a quote comes with the text around it', () => {
  test('code with the sentence that leads to it', async () => {
    const { content, citations } = await asked('How do I descale the kettle?')
    expect(quotesIn(content).slice(0, 5)).toEqual([
      '> Descale the kettle every month as follows:',
      '>',
      '> ```sh',
      '> kettle --descale --minutes 20',
      '> ```',
    ])
    expect(content).toMatch(/^— kettle › Cleaning \[kettle:content:\d+of\d+:\d+to\d+\]$/m)
    expect(citations[0]).toMatchObject({ document_id: 'kettle' })
  })

  test('the row of a table with the names of its columns', async () => {
    const { content, citations } = await asked('What is the default temperature of the kettle?')
    expect(quotesIn(content).slice(0, 3)).toEqual([
      '> | Option | Default | Meaning |',
      '> |---|---|---|',
      '> | temperature | 95 | Degrees that the water is heated to |',
    ])
    const { text, start, end } = citations[0] as { text: string; start: number; end: number }
    expect(GUIDE.slice(start, end)).toBe(text)
    expect(text).toContain('temperature | 95')
  })

  test('what follows a heading that asks, not the heading', async () => {
    const { content } = await asked('Why does the kettle hum?')
    expect(content).toContain(
      '> **The plate grows faster than the wall around it.** That is harmless.',
    )
    expect(content).toContain('— kettle › Why does it hum? [')
  })
})

describe('a question for rows', () => {
  test.each([
    ['How many documents are there?', '| 3 |'],
    ['Wie viele Dokumente gibt es?', '| 3 |'],
    ['¿Cuántos documentos hay?', '| 3 |'],
    ['Сколько документов в базе?', '| 3 |'],
    ['有多少文档？', '| 3 |'],
    ['How many documents have the licence ISC?', '| 1 |'],
    ['Which guides have the license MIT?', '| mixer |'],
    ['Welche Dokumente haben die license MIT?', '| kettle |'],
    ['What is the average of pages?', '| 7.66'],
    ['Which document has the most pages?', '| kettle | 12 |'],
    ['How many documents are there for each license?', '| MIT | 2 |'],
    ['How many documents have more than 5 pages?', '| 2 |'],
    ['Which licenses are there?', '| ISC | 1 |'],
    ['What is the license of toaster?', '| toaster | ISC |'],
  ])('%s is answered by a statement that runs', async (question, row) => {
    const { content } = await asked(question)
    expect(content).toContain('the result of a statement that ran just now')
    expect(content).toContain(row)
    const statement = /```sql\n([\s\S]*?)\n```/.exec(content)?.[1] ?? ''
    const { body } = await t.send('POST', '/api/sql/query', { query: statement })
    expect(body).toMatchObject({ type: 'table' })
    const [first] = (body as { readonly data: unknown[][] }).data
    expect(content).toContain(`| ${first?.join(' | ')} |`)
  })

  test.each([
    ['all', 'How many documents are there?', ['| all | 5 |', '| mindsdb.guides | 3 |']],
    ['all', 'How many chunks are there?', ['| chunks |']],
    ['all', 'How many menus are there?', ['| documents |', '| 2 |']],
    ['all', 'How many rows are there in orders?', ['| rows |', '| 4 |']],
    ['all', 'How many rows are there?', ['| 4 |']],
    ['lawyer', 'Count the documents with license MIT', ['| 2 |']],
    ['lawyer', 'How many licenses are there?', ['| 3 |']],
    ['till', 'How many orders are there?', ['| 4 |']],
    ['till', 'Wie viele Zeilen gibt es?', ['| 4 |']],
    ['till', 'How many rows are there for each dish?', ['| soup | 3 |']],
    ['till', 'What is the average of price?', ['| 5.25 |']],
    ['till', 'Which row has the highest price?', ['| stew | 9 |']],
    ['till', 'How many orders have a price over 3?', ['| 3 |']],
  ])('agent %s: %s', async (agent, question, expected) => {
    const { content } = await asked(question, [], agent)
    for (const row of expected) expect(content).toContain(row)
    expect(content).toContain('```sql')
  })

  test('that no statement answers is left to a chat model', async () => {
    const { content } = await asked('Who ate the most?', [], 'till')
    expect(content).toContain('need a chat model')
    expect(content).toContain('- mindsdb.orders')
  })

  test('is one for passages where it only looks like it', async () => {
    const { content } = await asked('How many minutes does the toaster need to brown bread?')
    expect(content).not.toContain('SQL')
    expect(content).toContain('> **The toaster browns bread in two minutes.**')
  })
})

describe('a question that follows up on the one before', () => {
  test.each([
    ['What about the mixer?', 'How many minutes does the toaster need?', 'ten minutes'],
    ['And how many does it beep?', 'What is the default temperature of the kettle?', 'beeps | 3'],
  ])('%s', async (question, before, expected) => {
    const { content } = await asked(question, [[before, (await asked(before)).content]])
    expect(content).toContain(expected)
  })

  test('may point to a quote of the answer before', async () => {
    const answer =
      '> a\n— toaster [a:content:1of1:0to3]\n\n> b\n— kettle › Cleaning [b:content:1of1:0to3]'
    const { content } = await asked('Tell me more about the second one', [
      ['Which need care?', answer],
    ])
    expect(content).toContain('kettle --descale')
  })
})

test.each([
  ['What is the default of the boilCount option of the kettle?', '', 'boilCount'],
  ['What does --quiet of the kettle do?', ' in kettle', '--quiet'],
  ['Does the kettle beep by GPU?', '', 'GPU'],
])(
  '%s: a name that no passage holds is not answered by something else',
  async (question, where, name) => {
    const { content, citations } = await asked(question)
    expect(content).toStartWith(
      `I found nothing relevant to this question in mindsdb.guides: no passage found${where} mentions ${name}. `,
    )
    expect(citations).toEqual([])
  },
)

describe('documents of several formats', () => {
  beforeAll(async () => {
    const kbs = `${PROJECT}/knowledge_bases`
    for (const name of ['tools', 'papers']) await t.send('POST', kbs, { knowledge_base: { name } })
    const sent = [
      ['tools', 'sieve.md', '# sieve\n\n## Options\n\n`-r`, `--recursive`: Sieve all folders.\n'],
      ['tools', 'parser.md', '# parser\n\nThe parser reads the words of a command for syncing.\n'],
      ['papers', 'rain.html', '<h1>Rain</h1><p>Rain falls from PDF clouds.</p>'],
      ['papers', 'snow.md', '# Snow\n\nSnow falls slowly.\n'],
    ] as const
    for (const [name, file, text] of sent) {
      const form = new FormData()
      form.set('file', new File([text], file))
      expect((await t.send('POST', `${kbs}/${name}/files`, form)).status).toBe(200)
    }
    const data = {
      knowledge_bases: ['mindsdb.tools', 'mindsdb.papers'],
      tables: ['mindsdb.orders'],
    }
    await t.send('POST', `${PROJECT}/agents`, { agent: { name: 'helper', data } })
  })

  test.each([
    ['How many markdown documents are there?', '| all | 3 |'],
    ['How many HTML files do you have?', '| mindsdb.papers | 1 |'],
    ['How many PDFs are there?', '| all | 0 |'],
    ['How many text files are there?', '| all | 0 |'],
    ['How many texts are there?', '| all | 4 |'],
  ])('%s is answered by a count', async (question, row) => {
    expect((await asked(question, [], 'helper')).content).toContain(row)
  })

  test('an option is read only in the document that the question names', async () => {
    const { content } = await asked('What does -r do in sieve?', [], 'helper')
    expect(content).toContain('Sieve all folders')
    const other = await asked('What does -r do in parser?', [], 'helper')
    expect(other.content).toContain('no passage found in parser.md mentions -r. ')
    expect(other.citations).toEqual([])
    for (const question of [
      'What does -r do in rsync?',
      'What does -r of rsync mean?',
      'Tell me what -r does in rsync.',
    ]) {
      const missing = await asked(question, [], 'helper')
      expect(missing.content).toContain('no passage found mentions rsync. ')
      expect(missing.citations).toEqual([])
    }
  })

  test.each(['What can you do?', 'Who are you?', 'Hi, what can I ask you?', 'Hello!'])(
    '%s tells what the agent reads, and how to ask',
    async (question) => {
      const history = [['What is rain?', 'Rain falls.']] as const
      const { content, citations } = await asked(question, history, 'helper')
      expect(content).toContain('- mindsdb.tools\n- mindsdb.papers\n- mindsdb.orders\n')
      expect(content).toContain('"How many documents are there?"')
      expect(citations).toEqual([])
    },
  )
})

test('a column whose name needs quotes is read like any other', async () => {
  const query = 'CREATE TABLE sold AS SELECT 2.5 AS "Unit Price (EUR)", 4.0 AS "Net Weight"'
  await t.send('POST', '/api/sql/query', { query })
  await t.send('POST', `${PROJECT}/agents`, {
    agent: { name: 'seller', data: { tables: ['mindsdb.sold'] } },
  })
  const { content } = await asked('What is the average of net weight?', [], 'seller')
  expect(content).toContain('SELECT avg("Net Weight") FROM "mindsdb"."sold"')
  expect(content).toContain('| 4 |')
})

test('an empty knowledge base is reported as empty, not as lacking the answer', async () => {
  await t.send('POST', `${PROJECT}/knowledge_bases`, { knowledge_base: { name: 'empty' } })
  await t.send('POST', `${PROJECT}/agents`, {
    agent: { name: 'early', data: { knowledge_bases: ['mindsdb.empty'] } },
  })
  const messages = [{ question: 'Why does the kettle hum?', answer: '' }]
  const { text } = await t.send('POST', `${PROJECT}/agents/early/completions`, { messages })
  expect(text).toContain(
    'I found nothing relevant to this question in mindsdb.empty. Nothing is stored there yet',
  )
})

test('an agent over tables alone says that it needs a chat model, and how to name one', async () => {
  await t.send('POST', '/api/sql/query', {
    query: 'CREATE TABLE mindsdb.sales (SELECT 1 AS amount)',
  })
  await t.send('POST', `${PROJECT}/agents`, {
    agent: { name: 'clerk', data: { tables: ['mindsdb.sales'] } },
  })
  const messages = [{ question: 'What was sold?', answer: '' }]
  const { text } = await t.send('POST', `${PROJECT}/agents/clerk/completions`, { messages })
  expect(text).toContain('EIDER_CHAT_PROVIDER')
  expect(text).toContain('- mindsdb.sales')
})
