/** EVALUATE on the judgments, and what its rows say. */
import { literal, quoted, runSql } from '../../../api/sql.ts'
import type { KnowledgeBaseAddress } from '../../knowledge-base/knowledge-base-frame.tsx'
import { type Judgments, tableOf } from '../judgments/judgments.ts'

export interface EvaluationSetting {
  readonly mode: 'vector' | 'keyword' | 'hybrid'
  /** null: as it fits the text. */
  readonly alpha: number | null
  readonly fusion: string | null
}

export const DEFAULT_SETTING: EvaluationSetting = { mode: 'hybrid', alpha: null, fusion: null }

export const K_MAX = 20

/** One question: a number for each k from 1 on. */
export interface Measured {
  readonly question: string
  readonly ndcg: readonly number[]
  readonly recall: readonly number[]
}

interface EvaluationOrder {
  readonly place: KnowledgeBaseAddress
  readonly setting: EvaluationSetting
  readonly judgments: Judgments
}

/** Questions with a right document, in the order of the table. @throws ApiError */
export async function evaluated(
  { place, setting, judgments }: EvaluationOrder,
  signal: AbortSignal,
): Promise<readonly Measured[]> {
  const { rows, columns } = await runSql({
    sql: evaluateStatement(place, setting),
    project: place.project,
    signal,
  })
  const question = columns.indexOf('question')
  const found = columns.indexOf('found_documents')
  const grades = new Map<string, Map<string, number>>()
  for (const { question: asked, document, grade } of judgments) {
    const known = grades.get(asked) ?? new Map<string, number>()
    grades.set(asked, known.set(document, grade ?? 0))
  }
  return rows.flatMap((row) => {
    const asked = String(row[question])
    const documents: unknown = JSON.parse(String(row[found]))
    const ranking = Array.isArray(documents) ? documents.map(String) : []
    const measured = measuredOf(ranking, grades.get(asked) ?? new Map())
    return measured === null ? [] : [{ question: asked, ...measured }]
  })
}

export function evaluateStatement(place: KnowledgeBaseAddress, setting: EvaluationSetting): string {
  const { mode, alpha, fusion } = setting
  const isHybrid = mode === 'hybrid'
  const options = [
    `test_table = ${literal(tableOf(place))}`,
    `version = 'judgments'`,
    `per_question = true`,
    `k = ${K_MAX}`,
    `mode = '${mode}'`,
    ...(isHybrid && alpha !== null ? [`alpha = ${alpha}`] : []),
    ...(isHybrid && fusion !== null ? [`fusion = ${literal(fusion)}`] : []),
  ]
  const kb = `${quoted(place.project)}.${quoted(place.name)}`
  return `EVALUATE KNOWLEDGE_BASE ${kb} USING ${options.join(', ')}`
}

/** nDCG with linear gains and recall, as EVALUATE computes them, for each k; null: no document is right. */
export function measuredOf(
  ranking: readonly string[],
  grades: ReadonlyMap<string, number>,
): Omit<Measured, 'question'> | null {
  const best = [...grades.values()].filter((grade) => grade > 0).sort((one, other) => other - one)
  if (best.length === 0) return null
  const ndcg: number[] = []
  const recall: number[] = []
  let [gain, bestGain, hits] = [0, 0, 0]
  for (let index = 0; index < K_MAX; index += 1) {
    const grade = Math.max(0, grades.get(ranking[index] ?? '') ?? 0)
    const discount = Math.log2(index + 2)
    gain += grade / discount
    bestGain += (best[index] ?? 0) / discount
    if (grade > 0) hits += 1
    ndcg.push(gain / bestGain)
    recall.push(hits / best.length)
  }
  return { ndcg, recall }
}

/** The means over all questions, for each k. */
export function means(measured: readonly Measured[]): Omit<Measured, 'question'> {
  const mean = (of: 'ndcg' | 'recall') => {
    return Array.from({ length: K_MAX }, (_, index) => {
      return measured.reduce((sum, one) => sum + (one[of][index] ?? 0), 0) / (measured.length || 1)
    })
  }
  return { ndcg: mean('ndcg'), recall: mean('recall') }
}
