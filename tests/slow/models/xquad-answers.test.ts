/** The built-in agent over XQuAD, where its collections are at hand (bench/README.md); the floors are just below the table in bench/notes/agents.md. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { answerCases, type CaseKind } from '../../../bench/quality/answer-cases.ts'
import { quotesOf, type Rates, ratesOf } from '../../../bench/quality/answer-rating.ts'
import type { Citation } from '../../../src/core/domain/agents/completion-event.ts'
import { createTestApp, type TestApp } from '../../support/test-app.ts'

const FOLDER = process.env.BENCH_COLLECTIONS ?? ''
const QUESTIONS = 60
const PROJECT = '/api/projects/mindsdb'

describe.each([
  ['xquad-en', { first: 0.78, inThree: 0.88, lost: 0.09, removed: 0.65 }],
  ['xquad-de', { first: 0.68, inThree: 0.83, lost: 0.09, removed: 0.65 }],
] as const)('%s', (name, floors) => {
  // Skipped where BENCH_COLLECTIONS names no folder with the collection.
  const hasCollection = existsSync(join(FOLDER, name, 'answers.jsonl'))
  const rates = new Map<CaseKind, Rates>()
  let t: TestApp
  beforeAll(async () => {
    if (!hasCollection) return
    t = await createTestApp({ embedders: 'real' })
    const { knowledgeBases, cases } = await answerCases(FOLDER, [name], QUESTIONS)
    for (const { name: base, documents } of knowledgeBases) {
      await t.send('POST', `${PROJECT}/knowledge_bases`, { knowledge_base: { name: base } })
      const rows = documents.map(({ id, content }) => ({ id, content }))
      await t.send('PUT', `${PROJECT}/knowledge_bases/${base}`, { knowledge_base: { rows } })
      const data = { knowledge_bases: [`mindsdb.${base}`] }
      await t.send('POST', `${PROJECT}/agents`, { agent: { name: `${base}_agent`, data } })
    }
    const contents = new Map(
      knowledgeBases.flatMap(({ documents }) => documents.map((one) => [one.id, one.content])),
    )
    for (const { kind, knowledgeBase, questions } of cases) {
      const answers = []
      for (const { text, gold } of questions) {
        const path = `${PROJECT}/agents/${knowledgeBase}_agent/completions`
        const { body } = await t.send('POST', path, { messages: [{ question: text, answer: '' }] })
        const { citations } = (body as { message: { citations: readonly Citation[] } }).message
        for (const one of citations) {
          // Not told of a document that begins with U+FEFF, which the driver leaves out.
          if (one.start === null) continue
          const content = contents.get(one.document_id) ?? ''
          expect(content.slice(one.start, one.end ?? -1)).toBe(one.text)
        }
        answers.push({ gold, quotes: quotesOf(citations) })
      }
      rates.set(kind, ratesOf(answers))
    }
  }, 300_000)
  afterAll(() => t?.close())

  test.skipIf(!hasCollection)('quotes the answer, and says when there is none', () => {
    const [answered, removed] = [rates.get('answered'), rates.get('removed')]
    expect(answered?.count).toBe(QUESTIONS)
    expect(answered?.goldFirst).toBeGreaterThan(floors.first)
    expect(answered?.goldInThree).toBeGreaterThan(floors.inThree)
    expect(answered?.nothingFound).toBeLessThan(floors.lost)
    expect(removed?.nothingFound).toBeGreaterThan(floors.removed)
  })
})
