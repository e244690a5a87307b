/**
 * `bun bench/quality/readme-answers.ts [--data folder] [--show all|wrong] [--only text]` measures
 * over HTTP how useful the built-in agent's answers are about the READMEs that the demo loads. With
 * `--data`, the knowledge base stays in that folder for the next time.
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type EiderClient, eiderClient } from '../../scripts/eider-client.ts'
import { readmeFiles } from '../../scripts/readme-files.ts'
import { whileRunning } from '../../scripts/server-process.ts'
import { textTable } from '../../scripts/text-table.ts'
import { PROJECT, startMeasured, withFolder } from '../scenario.ts'
import { type AskedAnswer, askAgent, isRight, quotedText, saysNothing } from './asked-answer.ts'
import { ANSWERABLE, FOR_SQL, UNANSWERABLE } from './readme-questions.ts'

/** The documents with the answers, and some others. */
const README_LIMITS = {
  filesMax: 150,
  charsMax: 12_000,
  first: [...new Set(ANSWERABLE.map(({ document }) => document))],
}
const ROWS_PER_INSERT = 20

type Shown = 'none' | 'wrong' | 'all'

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      data: { type: 'string' },
      show: { type: 'string', default: 'none' },
      only: { type: 'string', default: '' },
    },
  })
  const run = async (dataDirectory: string) => {
    const server = await startMeasured({ dataDirectory })
    await whileRunning(server, async () => {
      const client = eiderClient(server.baseUrl)
      await fillWithReadmes(client)
      await measured(client, values.show as Shown, values.only)
    })
  }
  await (values.data === undefined ? withFolder(run) : run(values.data))
}

/** Creates the knowledge base `readmes` and the agent `guide` for it. */
export async function fillWithReadmes(client: EiderClient): Promise<void> {
  const known = await client.sql("SELECT 1 FROM information_schema.agents WHERE name = 'guide'")
  if (known.rows.length > 0) return
  await client.request('POST', `${PROJECT}/knowledge_bases`, {
    knowledge_base: {
      name: 'readmes',
      content_columns: ['content'],
      metadata_columns: ['version', 'license', 'size_chars'],
      id_column: 'id',
    },
  })
  const modules = join(import.meta.dir, '../../node_modules')
  const rows = (await readmeFiles(modules, README_LIMITS)).map((readme) => ({
    id: readme.packageName,
    version: readme.version,
    license: readme.license,
    size_chars: readme.sizeChars,
    content: readme.text,
  }))
  for (let from = 0; from < rows.length; from += ROWS_PER_INSERT) {
    await client.request('PUT', `${PROJECT}/knowledge_bases/readmes`, {
      knowledge_base: { rows: rows.slice(from, from + ROWS_PER_INSERT) },
    })
  }
  await client.request('POST', `${PROJECT}/agents`, {
    agent: { name: 'guide', data: { knowledge_bases: ['mindsdb.readmes'] } },
  })
}

async function measured(client: EiderClient, shown: Shown, only: string): Promise<void> {
  const rows: (readonly [string, number, number, number | string])[] = []
  const ask = (question: string) => askAgent(client, `${PROJECT}/agents/guide`, question)
  const print = (isGood: boolean, question: string, answer: AskedAnswer) => {
    if (shown === 'all' || (shown === 'wrong' && !isGood)) {
      console.log(`${isGood ? '✓' : '✗'} ${question}\n${answer.content.replace(/^/gm, '    ')}\n`)
    }
  }
  const isWanted = ({ question }: { readonly question: string }) => question.includes(only)
  for (const kind of ['what', 'how', 'default', 'fact', 'name', 'why'] as const) {
    let [count, right, first] = [0, 0, 0]
    for (const entry of ANSWERABLE.filter((one) => one.kind === kind && isWanted(one))) {
      const answer = await ask(entry.question)
      const isGood = isRight(answer, entry.document, entry.expected)
      count += 1
      right += Number(isGood)
      first += Number(isGood && entry.expected.test(quotedText(answer.content, 1)))
      print(isGood, entry.question, answer)
    }
    rows.push([kind, count, right, first])
  }
  for (const kind of ['off topic', 'on topic'] as const) {
    let [count, right] = [0, 0]
    for (const entry of UNANSWERABLE.filter((one) => one.kind === kind && isWanted(one))) {
      const answer = await ask(entry.question)
      const isGood = saysNothing(answer)
      count += 1
      right += Number(isGood)
      print(isGood, entry.question, answer)
    }
    rows.push([`no answer: ${kind}`, count, right, ''])
  }
  let right = 0
  for (const entry of FOR_SQL.filter(isWanted)) {
    const answer = await ask(entry.question)
    const isGood = await runsAsTold(client, answer, entry.statement)
    right += Number(isGood)
    print(isGood, entry.question, answer)
  }
  rows.push(['for SQL', FOR_SQL.filter(isWanted).length, right, ''])
  console.log(textTable(['kind', 'questions', 'right', 'by the first quote'], rows))
}

/** Whether the statement in the answer is the right one and runs. */
async function runsAsTold(
  client: EiderClient,
  { content }: AskedAnswer,
  statement: RegExp | null,
): Promise<boolean> {
  const told = /```sql\n([\s\S]*?)\n```/.exec(content)?.[1]
  if (told === undefined || statement === null) return statement === null && /SQL/.test(content)
  if (!statement.test(told)) return false
  const { rows } = await client.sql(told)
  return rows.length > 0
}
