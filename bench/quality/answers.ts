/**
 * `bun bench/quality/answers.ts <folder> [--collections a,b] [--limit n] [--record file] | --replay file` measures how well the built-in agent answers
 * questions, and whether it says when it has no answer. See bench/README.md.
 */
import { parseArgs } from 'node:util'
import { type Bench, PROJECT, withServer } from '../scenario.ts'
import { type AnswerCases, answerCases, type FilledBase } from './answer-cases.ts'
import { quotesOf, ratesOf } from './answer-rating.ts'
import { printRates, type RatedCase } from './answer-report.ts'
import { askAgent } from './asked-answer.ts'
import { type RecordedCase, recordedCase } from './recorded-searches.ts'
import { replayed } from './replayed-answers.ts'

const COLLECTIONS = 'xquad-en,xquad-ar,xquad-de,xquad-ru,xquad-zh,cranfield'
const ROWS_PER_INSERT = 200

const agentName = (knowledgeBase: string) => `${knowledgeBase}_agent`

process.exitCode = await main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error))
  return 1
})

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    options: {
      collections: { type: 'string', default: COLLECTIONS },
      limit: { type: 'string', default: '100' },
      record: { type: 'string' },
      replay: { type: 'string' },
    },
    allowPositionals: true,
  })
  const { record, replay } = values
  const folder = positionals[0] ?? process.env.BENCH_COLLECTIONS
  const limit = Number(values.limit)
  if (replay !== undefined) {
    const cases: readonly RecordedCase[] = await Bun.file(replay).json()
    printRates(await replayed(cases, limit))
    return 0
  }
  if (folder === undefined || positionals.length > 1 || !(limit >= 1)) {
    console.error(
      'bun bench/quality/answers.ts <folder> [--collections a,b] [--limit n] [--record file]',
    )
    console.error('bun bench/quality/answers.ts --replay file [--limit n]')
    return 2
  }
  const all = await answerCases(folder, values.collections.split(','), limit)
  return withServer({}, async (bench) => {
    await fill(bench, all.knowledgeBases)
    if (record === undefined) printRates(await asked(bench, all))
    else await recordTo(record, bench, all)
    return 0
  })
}

async function fill({ client }: Bench, knowledgeBases: readonly FilledBase[]): Promise<void> {
  for (const { name, documents } of knowledgeBases) {
    const record = { name, content_columns: ['content'], id_column: 'id' }
    await client.request('POST', `${PROJECT}/knowledge_bases`, { knowledge_base: record })
    for (let from = 0; from < documents.length; from += ROWS_PER_INSERT) {
      const rows = documents.slice(from, from + ROWS_PER_INSERT)
      await client.request('PUT', `${PROJECT}/knowledge_bases/${name}`, {
        knowledge_base: { rows: rows.map(({ id, content }) => ({ id, content })) },
      })
    }
    await client.request('POST', `${PROJECT}/agents`, {
      agent: {
        name: agentName(name),
        model: { provider: 'builtin' },
        data: { knowledge_bases: [`mindsdb.${name}`] },
      },
    })
  }
}

async function recordTo(file: string, { client }: Bench, { cases }: AnswerCases): Promise<void> {
  const recorded: RecordedCase[] = []
  for (const one of cases) recorded.push(await recordedCase(client, one))
  await Bun.write(file, JSON.stringify(recorded))
}

async function asked({ client }: Bench, { cases }: AnswerCases): Promise<readonly RatedCase[]> {
  const rated: RatedCase[] = []
  for (const one of cases) {
    const answers: Parameters<typeof ratesOf>[0][number][] = []
    for (const { text, gold } of one.questions) {
      const path = `${PROJECT}/agents/${agentName(one.knowledgeBase)}`
      const { citations } = await askAgent(client, path, text)
      answers.push({ gold, quotes: quotesOf(citations) })
    }
    rated.push({ name: one.name, kind: one.kind, rates: ratesOf(answers) })
  }
  return rated
}
