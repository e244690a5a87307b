import { expect, test } from 'bun:test'
import type { Passage } from '../../src/models/builtin/chat/answer-unit.ts'
import { unitsOf } from '../../src/models/builtin/chat/units.ts'
import { cpuMsOf } from '../support/cpu-time.ts'

const passage = (text: string, about: Partial<Passage> = {}): Passage => {
  const nowhere = { documentId: '', heading: '', pages: null, place: null }
  return { ...nowhere, chunkId: 'c', text, relevance: 0.5, ...about }
}
const cut = (text: string) => unitsOf([passage(text)])
const textsOf = (text: string) => cut(text).map((unit) => unit.text)

test.each([
  [
    'ends and quotes',
    'One is here. "Two is here!" Three it is.',
    ['One is here.', '"Two is here!"', 'Three it is.'],
  ],
  [
    'abbreviations and numbers',
    'Use e.g. Bun by Mr. J. Smith at 3.5 GHz. Then stop.',
    ['Use e.g. Bun by Mr. J. Smith at 3.5 GHz.', 'Then stop.'],
  ],
  [
    'Chinese and Japanese',
    '你好。今天天气很好！明日は雨です。',
    ['你好。', '今天天气很好！', '明日は雨です。'],
  ],
  ['Arabic', 'هذا هو النص الأول. وهذا هو الثاني.', ['هذا هو النص الأول.', 'وهذا هو الثاني.']],
  [
    'lists, whose items are also one together',
    '- first item\n- second item\n  goes on',
    ['first item', 'second item\n  goes on', '- first item\n- second item\n  goes on'],
  ],
  ['short lines', 'Name: Eider\nColour: brown', ['Name: Eider', 'Colour: brown']],
  ['tables', '| a | b |\n|---|---|\n| one | two |', ['| one | two |']],
  ['nothing but marks', '***\n---\n?!', []],
  ['nothing', '', []],
])('cuts %s', (_, text, texts) => {
  expect(textsOf(text)).toEqual([...texts])
})

test.each([
  '### Look/see\n\nSee what is left (`see()` is the same):\n\n```\ntool see left\n```',
  'It may stay.\n\n**same**\n\nAs it is.\n\n```\ntool see left\n# ---- >8 ----\n```\n\n**other**\n\nNot as it is.',
  'For example:\n\n```\n-- Create what does not remove anything\ntool see left\n```',
])('a whole block of code does not make the text around it code: %j', (text) => {
  const code = cut(text).filter(({ site }) => site.kind === 'code')
  expect(code.map((unit) => unit.text)).toEqual([expect.stringContaining('tool see left')])
})

test('a unit has its exact position in its passage', () => {
  const text =
    '# A\n\nOne is\nhere. Two.\n\n- x: y\n\n```\ncode\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |'
  const units = cut(text)
  expect(units.length).toBeGreaterThan(4)
  for (const unit of units) expect(text.slice(unit.start, unit.end)).toBe(unit.text)
})

test('an item, a row and a piece of code know what they are read with', () => {
  const text = [
    '## Options\n\nThe following can be changed:\n\n- `fps` (default: 10)\n- `size` (default: 40)\n',
    '| Key | Default |\n|---|---|\n| maxRuns | Infinite |\n',
    'Stop it as follows:\n```js\njob.stop()\n```',
  ].join('\n')
  const settings = new Map(cut(text).map((unit) => [unit.text, unit.setting]))
  expect(settings.get('`fps` (default: 10)')).toBe('Options: The following can be changed:')
  expect(settings.get('| maxRuns | Infinite |')).toBe('Options: | Key | Default |')
  expect(settings.get('job.stop()')).toBe('Options: Stop it as follows:')
})

test('a sentence that only introduces a list is not a unit, and a question is a heading', () => {
  const text =
    'There are two:\n\n- one thing\n- other thing\n\nWhy is it so?\n\nBecause it was made so.'
  const units = cut(text)
  expect(units.map((unit) => unit.text)).not.toContain('There are two:')
  expect(units.at(-1)).toMatchObject({ text: 'Because it was made so.', setting: 'Why is it so?' })
})

test('a heading above the options of a manual page is not their name', () => {
  const text = `OPTIONS
   Output Control
       -c, --count
\t      Print only a count.
\t-m NUM
\t\tStop after NUM lines.`
  expect(cut(text).map((unit) => [unit.setting, unit.text.replace(/\s+/g, ' ')])).toEqual([
    ['OPTIONS: Output Control', '-c, --count Print only a count.'],
    ['OPTIONS: Output Control', '-m NUM Stop after NUM lines.'],
  ])
})

test('the options of a manual page are units with their descriptions', () => {
  const text = `NAME
       grep - print lines that match patterns

OPTIONS
       -i, --ignore-case
              Ignore case distinctions in patterns and input data.

       -v, --invert-match
              Invert the sense of matching.
`
  expect(cut(text).map(({ text, setting }) => [setting, text.replace(/\s+/g, ' ')])).toEqual([
    ['NAME', 'grep - print lines that match patterns'],
    ['OPTIONS', '-i, --ignore-case Ignore case distinctions in patterns and input data.'],
    ['OPTIONS', '-v, --invert-match Invert the sense of matching.'],
  ])
})

test('an option with two names, one with its text beside it, and paragraphs below an item', () => {
  const text = `OPTIONS
       -N pattern
       --not=pattern
           Leave these out.

       -k     like --block=1K

       •   --raw-output:

           Strings are written without quotes. That helps.

GNU tool 9.1                  May 2022                      TOOL(1)
`
  const plain = (one: string) => one.replace(/\s+/g, ' ')
  expect(cut(text).map((unit) => [plain(unit.setting), plain(unit.text)])).toEqual([
    ['OPTIONS', '-N pattern --not=pattern Leave these out.'],
    ['OPTIONS', '-k like --block=1K'],
    ['OPTIONS', '--raw-output:'],
    ['OPTIONS: --raw-output:', 'Strings are written without quotes.'],
    ['OPTIONS: --raw-output:', 'That helps.'],
  ])
})

test('chunks that follow each other are read as one text', () => {
  const text = '# Speed\n\nIt is fast. It is very fast on two cores. And it is small.'
  const chunk = (number: number, start: number, end: number) =>
    passage(text.slice(start, end), {
      chunkId: `d:content:${number}of2:${start}to${end}`,
      documentId: 'd',
      place: { column: 'content', number, total: 2, start, end },
    })
  const units = unitsOf([chunk(2, 21, text.length), chunk(1, 0, 35)])
  expect(units.map((unit) => [unit.text, unit.passage.place?.number, unit.setting])).toEqual([
    ['It is fast.', 1, 'Speed'],
    ['It is very fast on two cores.', 2, 'Speed'],
    ['And it is small.', 2, 'Speed'],
  ])
})

test('fenced code is one piece, and is not split', () => {
  expect(textsOf('Run it.\n```ts\na. B\nc. D\n```\nDone now.')).toEqual([
    'Run it.',
    'a. B\nc. D',
    'Done now.',
  ])
})

test('a chunk that begins within fenced code knows it', () => {
  const tail =
    'const client = new Client({ a: 1 })\nclient.run()\n```\nIt runs. It stops.\n```js\nnext()\n```'
  expect(textsOf(tail)).toEqual([
    'const client = new Client({ a: 1 })\nclient.run()',
    'It runs.',
    'It stops.',
    'next()',
  ])
  expect(textsOf('f({ a: 1 });\n```\nIt runs. It stops.')).toEqual([
    'f({ a: 1 });',
    'It runs.',
    'It stops.',
  ])
})

test('lone words, markup and the rest of a cut sentence are fragments', () => {
  const fragments = (text: string) => cut(text).map((unit) => unit.isFragment)
  expect(fragments('of the whole matter here. It is clear now.')).toEqual([true, false])
  expect(fragments('<a name="x"></a> Title')).toEqual([true])
  expect(fragments('天气很好吗谢谢。')).toEqual([false])
})

const HOSTILE = [
  ...['a\n', '# ', '#', '\n# # #', 'A. ', '。', 'a-', 'https:', '[a](', '| a |\n', '<', '[', '!['],
  ...['.', '. A', '`', '```\n', '| ', '- \n', '- a\n', '" ', '(', 'a', ' ', '\n ', '<!--\n', '> '],
  ...['a\n---\n', 'A\n  b\n', ' a\n', 'a:\n', '</a>', '[a]: b\n', '?\n', 'a?\n', '|-|\n'],
]

test.each(HOSTILE)('20 000 times %j takes no noticeable time', (piece) => {
  expect(cpuMsOf(() => cut(piece.repeat(20_000)))).toBeLessThan(1500)
})
