/** What the built-in model searches for and quotes when asked what something is, or how things differ. */
import { expect, test } from 'bun:test'
import { rowAnswer } from '../../src/models/builtin/chat/row-questions.ts'
import { asked, played, rowsOf } from './fixtures/chat-support.ts'

const SETTINGS =
  '`checkpoint_timeout` (`integer`)\n\nThe time between two checkpoints, and a checkpoint takes a while.'

/** A search finds the first text, and one for definitions the others. */
function answerTo(question: string, text: string, ...defining: readonly string[]) {
  const chunk = (one: string, index: number) => {
    return [
      `manual:content:${index + 1}of9:${index * 9000}to${index * 9000 + one.length}`,
      one,
      0.7,
    ] as const
  }
  return played({
    messages: asked(question),
    listed: '["mindsdb.manual"]',
    observe: (sql) => {
      const isDefining = sql.includes('regexp_matches')
      return rowsOf('manual', ...(isDefining ? defining : [text]).map(chunk))
    },
  })
}

test.each([
  ['What is a checkpoint?', '*Checkpoints* are points at which all changes are in the files.'],
  [
    'What is a checkpoint?',
    'A checkpoint (of the log) is a point at which all changes are in the files.',
  ],
  ['What does Checkpoint mean?', '**checkpoint**\n\nAll changes are in the files from here on.'],
  ['Was ist ein Schiebedach?', 'Ein Schiebedach ist ein Dach, das sich öffnen lässt.'],
  ['What is WAL?', '*Write-Ahead Logging* (WAL) is a way of keeping changes.'],
])('a text that defines it is found and quoted: %s %s', async (question, definition) => {
  const { answer, sql } = await answerTo(question, SETTINGS, definition)
  const [, form = ''] = /regexp_matches\(chunk_content, '((?:[^']|'')*)'/.exec(sql.join('\n')) ?? []
  expect(new RegExp(form, 'i').test(definition)).toBe(true)
  const [part] = /(?<=contains\(chunk_content, ')[^']+/.exec(sql.join('\n')) ?? []
  expect(definition).toContain(part ?? 'nothing')
  expect(answer.replaceAll(/[*>\s]+/g, ' ')).toContain(
    definition.replaceAll(/[*>\s]+/g, ' ').trim(),
  )
})

test.each([
  'What is the default of checkpoint_timeout?',
  'How long does a checkpoint take?',
  'What is it?',
  'What does the checkpoint run?',
  'What is the fastest way to write all changes to the files?',
])('no definition is searched for: %s', async (question) => {
  const { sql } = await answerTo(question, SETTINGS)
  expect(sql.join('\n')).not.toContain('regexp_matches')
})

test('what happens to many things does not define them', async () => {
  const run = '*Checkpoints* are made every five minutes.'
  const { answer } = await answerTo('What is a checkpoint?', SETTINGS, run)
  expect(answer).not.toContain(run)
})

test('an option of the same name does not define it', async () => {
  const option = '**--index**\n\nApply it to the index as well.'
  const { answer } = await answerTo(
    'What is the index?',
    option,
    '**index**\n\nA list of all files.',
  )
  expect(answer).toContain('A list of all files.')
})

test('a compared thing that no passage mentions is searched for alone', async () => {
  const { answer, sql } = await played({
    messages: asked('What is the difference between gzip and zstd?'),
    listed: '["mindsdb.manual"]',
    observe: (one) =>
      one.includes("content = 'zstd'")
        ? rowsOf('zstd', ['zstd:content:1of1:0to31', 'Zstd is a newer, faster method.', 0.6])
        : rowsOf('gzip', ['gzip:content:1of1:0to30', 'Gzip is an old, common method.', 0.7]),
  })
  expect(sql.filter((one) => one.includes("content = 'gzip'"))).toEqual([])
  expect(answer).toContain('an old, common method')
  expect(answer).toContain('a newer, faster method')
})

test('within the document that a question names, its name is not searched for', async () => {
  const text = `# packager\n\n${'Packager packs the folders in turn. '.repeat(14)}`
  const { sql } = await played({
    messages: asked('Under which licence is packager available?'),
    listed: '["mindsdb.manual"]',
    observe: () => rowsOf('packager', [`packager:content:1of9:0to${text.length}`, text, 0.7]),
  })
  const named = sql.filter((one) => one.includes("id IN ('packager')"))
  expect(named.map((one) => /content = '[^']*'/.exec(one)?.[0])).toEqual([
    "content = 'Under which licence is available? license'",
  ])
})

const TYPES = [
  '| Name | Size | Range |\n| --- | --- | --- |\n| `bigint` | 8 bytes | larger than that of integer |',
  '| `integer` | 4 bytes | -2147483648 to 2147483647 |',
].join('\n')

test('a row answers about what its first cell names', async () => {
  const { answer } = await answerTo('What is the range of integer?', TYPES)
  expect(answer).toContain('2147483647')
})

test('a label that names what is asked for answers', async () => {
  const text =
    'Available as part of a subscription. The licence is available there.\n\n## End\n\nLicense: BSD-2-Clause'
  const { answer } = await answerTo('Under which licence is it available?', text)
  expect(answer).toContain('**License: BSD-2-Clause**')
})

test.each([
  [
    'Who is the CEO of the tool?',
    'The tool, with the source of all texts, is made by the team.',
    'CEO',
  ],
  ['How many people live in New York City?', 'Many people live in the new town.', 'New York City'],
])('a name that is only part of other words is not mentioned: %s', async (question, text, name) => {
  const { answer } = await answerTo(question, text)
  expect(answer).not.toStartWith('This is what I found')
  expect(answer).toContain(`mentions ${name}`)
})

test('part of a name with a number is not taken for a name', async () => {
  const { answer } = await answerTo('How do I use the Apache-2.0 licence?', 'Nothing is said here.')
  expect(answer).not.toContain('Apach')
})

test.each([
  [
    'What is the phone number of the team?',
    'The team of the tool has the number 6.0 of it.',
    false,
  ],
  ['What is the phone number of the team?', 'The phone number of the team is 0800 123 456.', true],
])('a phone number is more than a number: %s %s', async (question, text, isAnswer) => {
  const { answer } = await answerTo(question, text)
  expect(answer.startsWith('This is what I found')).toBe(isAnswer)
})

const PACKAGES = {
  name: 'mindsdb.packages',
  isTable: false,
  columns: [{ name: 'license', type: 'VARCHAR' }],
}

test.each([
  ['How many packages have the license MIT OR Apache-2.0?', "= 'MIT OR Apache-2.0'"],
  ['How many documents have the licence (MIT OR CC0-1.0)? license', "= '(MIT OR CC0-1.0)'"],
  ['Count the documents with license New York Public Domain', "= 'New York Public Domain'"],
])('a value of several words: %s', (question, condition) => {
  expect(rowAnswer(question, [PACKAGES])?.statement).toContain(condition)
})

test('one of two values is not taken for the only one', () => {
  const question = 'How many documents have the license MIT or (MIT OR CC0-1.0)?'
  expect(rowAnswer(question, [PACKAGES])?.statement ?? null).toBeNull()
})

test('a sentence does not end within code', async () => {
  const { answer } = await answerTo(
    'What is HNSW?',
    'Users ask for HNSW with `CREATE INDEX … WITH (hnsw)`, which is made. More follows.',
  )
  expect(answer).toContain(
    '**Users ask for HNSW with `CREATE INDEX … WITH (hnsw)`, which is made.**',
  )
})
