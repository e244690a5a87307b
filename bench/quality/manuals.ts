/**
 * `bun bench/quality/manuals.ts <folder> [--glossary file] [--questions file] [--show]` measures how often the built-in agent quotes the answer from
 * manuals in HTML: for the terms of a glossary its definitions, and for questions what the file expects.
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { parseHTML } from 'linkedom'
import { textTable } from '../../scripts/text-table.ts'
import { type Bench, PROJECT, withServer } from '../scenario.ts'
import { askAgent, quotedText } from './asked-answer.ts'

interface ManualQuestion {
  readonly question: string
  /** What the first quote must contain. */
  readonly expected: RegExp
}

const TERMS_MAX = 60
const TERM_WORDS_MAX = 3
/** A definition is recognized by this many of its first words. */
const FIRST_WORDS = 5
const DEFINITION_CHARS_MIN = 30

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    options: {
      glossary: { type: 'string' },
      questions: { type: 'string' },
      show: { type: 'boolean', default: false },
    },
    allowPositionals: true,
  })
  const [folder] = positionals
  if (folder === undefined) throw new Error('Name a folder of HTML files')
  const { glossary, questions, show } = values
  await withServer({}, async (bench) => {
    await fill(bench, folder)
    const rows: (readonly [string, number, number])[] = []
    const sets = [
      ['terms', glossary === undefined ? [] : termsIn(await Bun.file(glossary).text())],
      ['questions', questions === undefined ? [] : questionsIn(await Bun.file(questions).text())],
    ] as const
    for (const [name, set] of sets) rows.push([name, set.length, await rightOf(bench, set, show)])
    console.log(textTable(['', 'n', 'right'], rows))
  })
}

async function fill({ client, server }: Bench, folder: string): Promise<void> {
  const kb = `${PROJECT}/knowledge_bases`
  await client.request('POST', kb, { knowledge_base: { name: 'manuals' } })
  for (const name of (await readdir(folder)).filter((file) => file.endsWith('.html'))) {
    const form = new FormData()
    form.append('file', Bun.file(join(folder, name)), name)
    const url = `${server.baseUrl}/api${kb}/manuals/files`
    const { ok } = await fetch(url, { method: 'POST', body: form })
    if (!ok) throw new Error(`${name} was not stored`)
  }
  const data = { knowledge_bases: ['mindsdb.manuals'] }
  await client.request('POST', `${PROJECT}/agents`, { agent: { name: 'guide', data } })
}

async function rightOf(
  { client }: Bench,
  questions: readonly ManualQuestion[],
  isShown: boolean,
): Promise<number> {
  let right = 0
  for (const { question, expected } of questions) {
    const { content } = await askAgent(client, `${PROJECT}/agents/guide`, question)
    const isRight = expected.test(quotedText(content, 1))
    if (isRight) right += 1
    else if (isShown) console.log(`✗ ${question}\n${content.replace(/^/gm, '    ')}\n`)
  }
  return right
}

/** The terms of a list of definitions, each asked for in one of three ways. */
function termsIn(html: string): readonly ManualQuestion[] {
  const { document } = parseHTML(html)
  const questions = [...document.querySelectorAll('dt')].flatMap((entry, at): ManualQuestion[] => {
    const term = plain(entry.textContent).replace(/\s*\(.*?\)/g, '')
    const definition = plain(entry.nextElementSibling?.textContent)
    const words = definition.match(/[\w-]+/g) ?? []
    const isLong = term.split(' ').length > TERM_WORDS_MAX
    if (isLong || definition.length < DEFINITION_CHARS_MIN || words[0] === 'See') return []
    const article = /^[aeiou]/i.test(term) ? 'an' : 'a'
    const forms = [`What is ${article} ${term}?`, `What is ${term}?`, `What does ${term} mean?`]
    const expected = new RegExp(words.slice(0, FIRST_WORDS).join('\\W+'))
    return [{ question: forms[at % forms.length] ?? '', expected }]
  })
  const step = Math.max(1, questions.length / TERMS_MAX)
  return questions.filter((_, at) => Math.floor(at / step) !== Math.floor((at - 1) / step))
}

function plain(text: string | null | undefined): string {
  return (text ?? '').replace(/\s+/g, ' ').trim()
}

/** Each line: the question, a tab, a regular expression. */
function questionsIn(text: string): readonly ManualQuestion[] {
  return text.split('\n').flatMap((line) => {
    const [question = '', expected] = line.split('\t')
    return expected === undefined ? [] : [{ question, expected: new RegExp(expected) }]
  })
}
