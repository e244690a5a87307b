import { expect, test } from 'bun:test'
import { sentencesOf } from '../../src/models/builtin/chat/sentences.ts'

const textsOf = (text: string) => sentencesOf(text).map((sentence) => sentence.text)

test.each([
  [
    'ends and quotes',
    'One is here. "Two is here!" Three?',
    ['One is here.', '"Two is here!"', 'Three?'],
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
    'lists',
    '- first item\n- second item\n  goes on\n3. third',
    ['first item', 'second item goes on', 'third'],
  ],
  ['short lines', 'Name: Eider\nColour: brown', ['Name: Eider', 'Colour: brown']],
  [
    'lines that a margin wrapped',
    "This line is as long as a margin lets it be and so it was wrapped by\nSomebody's editor.",
    ["This line is as long as a margin lets it be and so it was wrapped by Somebody's editor."],
  ],
  ['tables', '| a | b |\n|---|---|\n| one | two |', ['| a | b |', '| one | two |']],
  ['nothing but marks', '***\n---\n?!', []],
  ['nothing', '', []],
])('splits %s', (_, text, sentences) => {
  expect(textsOf(text)).toEqual([...sentences])
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

test('a heading is what the next sentences are about, and none itself', () => {
  expect(sentencesOf('# Refunds\nWithin 30 days of buying.')).toEqual([
    { text: 'Within 30 days of buying.', heading: 'Refunds', isFragment: false },
  ])
})

test('lone words, markup and the rest of a cut sentence are fragments', () => {
  const fragments = (text: string) => sentencesOf(text).map((sentence) => sentence.isFragment)
  expect(fragments('of the whole matter here. It is clear now.')).toEqual([true, false])
  expect(fragments('<a name="x"></a> Title')).toEqual([true])
  expect(fragments('天气很好吗谢谢。')).toEqual([false])
})

test('hostile text takes no noticeable time', () => {
  const started = performance.now()
  const units = ['a\n', '# ', '#', '\n# # #', 'A. ', '。', 'a-', 'https:', '[a](', '| a |\n']
  for (const unit of [
    ...units,
    '<',
    '[',
    '![',
    '.',
    '. A',
    '`',
    '```\n',
    '| ',
    '- \n',
    '" ',
    '(',
    'a',
  ]) {
    sentencesOf(unit.repeat(20_000))
  }
  expect(performance.now() - started).toBeLessThan(4000)
})
