/** What the built-in model quotes from manuals that were HTML, and from lists of questions. */
import { expect, test } from 'bun:test'
import { asked, played, rowsOf } from './fixtures/chat-support.ts'

async function answerTo(question: string, ...texts: readonly string[]): Promise<string> {
  let start = 0
  const chunks = texts.map((text, index) => {
    const place = `${start}to${start + text.length}`
    start += text.length + 2
    return [
      `packager:content:${index + 1}of${texts.length}:${place}`,
      text,
      0.7 - index / 10,
    ] as const
  })
  const { answer } = await played({
    messages: asked(question),
    listed: '["mindsdb.manual"]',
    observe: () => rowsOf('packager', ...chunks),
  })
  return answer.replaceAll(/^—.*$/gm, '')
}

const OPTIONS = [
  '## OPTIONS\n\n**-d**\n\n**--delete**\n\nDelete a branch, which must be merged. With `--move`, rename it.',
  '**-m**\n\n**--move**\n\nMove a branch together with its log.\n\n**-q**\n\nBe quiet.',
].join('\n\n')

test.each([
  ['What does --move do?', 'Move a branch'],
  ['What does -d do?', 'Delete a branch'],
])('names that have a line each belong to the paragraph below: %s', async (question, start) => {
  const answer = await answerTo(question, OPTIONS)
  expect(answer).toContain(`**${start}`)
  expect(answer).toContain(question.includes('move') ? '> **-m**\n>\n> **--move**' : '> **-d**')
})

const DOINGS = [
  'When you sign a tag, the tag that you sign is shown as signed in the list of tags.',
  '**-s**\n\n**--sign**\n\nUse the key of the user for it.',
  '**--sign-off**\n\nAdd a line with the name of the user.',
].join('\n\n')

test('the option that is called like it answers how something is done', async () => {
  const answer = await answerTo('How do I sign a tag?', DOINGS)
  expect(answer).toContain('> **--sign**')
  expect(answer).toContain('**Use the key of the user for it.**')
})

const PORTS = [
  'The default port of the server is fixed when it is built, and the server has the same default port.',
  '`port` (`integer`)\n\nWhere the server listens; 5432 by default.',
].join('\n\n')

test('a sentence that tells a default answers the question for it', async () => {
  const answer = await answerTo('What is the default port of the server?', PORTS)
  expect(answer).toContain('5432 by default')
})

const SETTINGS = [
  '**pack.auto**\n\nWith more loose objects than this, `tool pack --auto` packs them. The default value is 6700.',
  '**pack.autoLimit**\n\nWith more packs than this, they become one. The default value is 50. A `pack.auto` of 0 disables it.',
].join('\n\n')

test('a setting with a dot is explained by its own entry, and its default by the sentence with it', async () => {
  expect(await answerTo('What is the default of pack.auto?', SETTINGS)).toContain(
    '**The default value is 6700.**',
  )
  expect(await answerTo('What does pack.auto do?', SETTINGS)).toContain(
    '**With more loose objects than this',
  )
})

const TYPED = [
  '`work_mem` (`integer`)\n\nSets the memory that a sort may use before it writes to temporary files.',
  'Note that several sorts may run at once, each of them with as much memory as this. '.repeat(4),
  'The default value is four megabytes.\n\n`work_ratio` (`real`)\n\nThe default value is 2.',
].join(' ')

test('a setting with its type is a name too, and the quote does not end with it', async () => {
  const explained = await answerTo('What does work_mem do?', TYPED)
  expect(explained).toContain('> `work_mem` (`integer`)')
  expect(explained).toContain('**Sets the memory that a sort may use')
  const told = await answerTo('What is the default value of work_mem?', TYPED)
  expect(told).toContain('**The default value is four megabytes.**')
})

const ENTRIES = [
  'Severities are critical, grave and minor. For what the severity grave means, ask the team.',
  '`grave`\n\nMakes the package unusable.\n\n`minor`\n\nDoes not affect its usefulness.',
].join('\n\n')

const DIRECTIVE = [
  '## Notes\n\nOn busy sites, the `KeepTime` directive may be lowered, and its default value changed in 2.4.',
  '## KeepTime Directive\n\n| Description: | How long the tool waits |\n| --- | --- |\n| Default: | `KeepTime 5` |',
  '| Compatibility: | The default value was 15 before 2.4 |\n\nThe number of seconds to wait before the end.',
].join('\n\n')

test.each([
  ['What is the default of KeepTime?', '| Default: | `KeepTime 5` |'],
  ['What is the default value of KeepTime?', '| Default: | `KeepTime 5` |'],
])('below the heading of a directive: %s', async (question, told) => {
  expect(await answerTo(question, DIRECTIVE)).toContain(told)
})

test.each([
  ['What does the severity "grave" mean?', ['Makes the package unusable.']],
  ['What does minor mean?', ['Does not affect its usefulness.']],
  [
    'What is the difference between grave and minor?',
    ['Makes the package unusable.', 'Does not affect its usefulness.'],
  ],
])('an entry defines its name: %s', async (question, told) => {
  const answer = await answerTo(question, ENTRIES)
  for (const one of told) expect(answer).toContain(`**${one}**`)
})

test.each([
  [
    'How do I empty the folder?',
    'To empty the folder, you can say\n\n```\npackager clear\n```\n\nNothing else is changed.',
    '> ```\n> packager clear\n> ```',
  ],
  [
    'What does pack_clear do?',
    '### pack clear\n\n[Function] int pack_clear (pack * folder)\n\nfolder: what to clear.\n\nRemoves the files.\n\n### pack end',
    '> folder: what to clear.\n>\n> Removes the files.',
  ],
])('a quote that breaks off goes on below: %s', async (question, text, rest) => {
  const answer = await answerTo(question, text)
  expect(answer).toContain(rest)
  expect(answer).not.toContain('pack end')
})

test('a quote does not go on with half of a block of code', async () => {
  const answer = await answerTo(
    'How do I empty the folder?',
    'To empty the folder, you can say\n\n```\npackager clear',
    'packager end\n```',
  )
  expect((answer.match(/```/g) ?? []).length % 2).toBe(0)
})

test('the caption of a figure or table is not quoted', async () => {
  const answer = await answerTo(
    'What does the list of files contain?',
    'It contains a name and a size for each of them.\n\n**Example 8.5. The list of files**\n\nNothing follows.',
  )
  expect(answer).not.toContain('Example 8.5')
})

test('a name alone, which is the best match, does not hide the answer', async () => {
  const answer = await answerTo(
    'What does tool clone --depth do?',
    'Text of the tool.\n\n**--depth**\n\n- Create a clone with a short history.\n- Of the tool.',
  )
  expect(answer).toContain('Create a clone with a short history.')
})

test('the answer to a frequent question comes from below it, although it asks in other words', async () => {
  const faq = [
    '## 5. Can several programs or instances of a program open a file at the same time?\n\nOnly for reading.',
    '## 6. How is a file closed?\n\nAvoid network drives if several programs might open a file.',
  ].join('\n\n')
  const answer = await answerTo('Can several programs open a file at the same time?', faq)
  expect(answer).toContain('**Only for reading.**')
})

test('the command below the heading that names it answers how something is done', async () => {
  const answer = await answerTo(
    'How do I make a backup?',
    '## Make a backup\n\n```\npackager save\n```\n\nYou make a backup of the whole folder, and the backup that you make is complete.',
  )
  expect(answer).toContain('> packager save')
})

test('code is quoted although the sentence above it is in another chunk', async () => {
  const answer = await answerTo(
    'How do I put a package on hold?',
    '## How do I put a package on hold?\n\nWith this command of the packager, you put a package on hold:',
    '```\npackager hold NAME\n```',
  )
  expect(answer).toContain('```\n> packager hold NAME\n> ```')
})

const PACKAGE = [
  `# packager\n\nA fast tool that packs folders.\n\n${'It reads them in turn, by name. '.repeat(14)}\n\n## Install\n\n\`\`\`\nnpm install packager\n\`\`\``,
  '## Options\n\nIt follows links.\n\n## License\n\nMIT',
]

test.each([
  'How much does packager cost?',
  'In which country was packager made?',
  'Is packager certified for medical devices?',
])('a document’s name alone does not make its passages an answer: %s', async (question) => {
  expect(await answerTo(question, ...PACKAGE)).not.toStartWith('This is what I found')
})

test.each([
  ['How do I install packager?', 'npm install packager'],
  ['Under which licence is packager available?', 'MIT'],
  ['What is packager?', 'A fast tool'],
])('the same document answers what it tells: %s', async (question, told) => {
  const answer = await answerTo(question, ...PACKAGE)
  expect(answer).toStartWith('This is what I found')
  expect(answer).toContain(told)
})

test.each([
  [
    'Who packed the folders?',
    'The folders were packed by the SQL tool, and the folders are in it.',
  ],
  ['How much does the tool cost?', 'The tool, of which there are 7, would cost too much time.'],
  ['Was kostet das Werkzeug?', 'Das Werkzeug kostet 7 Mal so viel Zeit wie sein Nachfolger.'],
  ['When were the folders packed?', 'The folders were packed by the tool, and they may be in it.'],
  ['Wann wurden die Ordner gepackt?', 'Die Ordner wurden gepackt, als das Werkzeug fertig war.'],
])('a passage without the kind of thing asked for is no answer: %s', async (question, text) => {
  expect(await answerTo(question, text)).not.toStartWith('This is what I found')
})

test('a day of the week and a time answer when something is', async () => {
  const text = 'Der Laden hat am Montag geöffnet, am Samstag bis 16 Uhr.'
  expect(await answerTo('Wann hat der Laden am Samstag geöffnet?', text)).toStartWith(
    'This is what I found',
  )
})

test.each([
  [
    'How much does the blue ticket cost?',
    '| ticket | price |\n| --- | --- |\n| blue ticket | 20 |',
  ],
  ['How much does the blue ticket cost?', 'The blue ticket costs what it did: 20 CHF for the day.'],
  ['Was kostet das blaue Ticket?', 'Das blaue Ticket kostet 20 Franken am Tag.'],
  ['How much memory does the index cost?', 'The memory that the index would cost is about 40 MB.'],
])('a price in other forms answers, and not every cost is a price: %s', async (question, text) => {
  expect(await answerTo(question, text)).toStartWith('This is what I found')
})
