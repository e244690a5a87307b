/** EVALUATE on the judgments with one or two settings, and what differs between them. */
import {
  FUSIONS,
  type Fusion,
  SEARCH_MODES,
  type SearchMode,
} from '../../../core/domain/hybrid-search.ts'
import type { KnowledgeBaseName } from '../../api/knowledge-bases.ts'
import { literal, quoted, runSql } from '../../api/sql.ts'
import { judgmentsTable } from './judgments.ts'

export interface EvaluationSetting {
  /** Another knowledge base of the project with the same documents; null: this one. */
  readonly knowledgeBase: string | null
  readonly mode: SearchMode
  /** null: chosen for each text. */
  readonly alpha: number | null
  readonly fusion: Fusion | null
  readonly reranks: boolean
}

export const DEFAULT_SETTING: EvaluationSetting = {
  knowledgeBase: null,
  mode: 'hybrid',
  alpha: null,
  fusion: null,
  reranks: false,
}

export interface MeasureSettings {
  /** One, or two to compare. */
  readonly settings: readonly EvaluationSetting[]
  /** How many results count. */
  readonly k: number
}

export const KS = [1, 3, 5, 10, 20]
const K_DEFAULT = 10
const KEYS = ['a', 'b'] as const

export function measureSettingsOf(
  query: Readonly<Record<string, string | undefined>>,
): MeasureSettings {
  const k = Number(query.k)
  const second = query.b === undefined ? [] : [settingOf(query.b)]
  return {
    settings: [settingOf(query.a ?? ''), ...second],
    k: KS.includes(k) ? k : K_DEFAULT,
  }
}

/** `?part=measure&a=mode=vector&k=5`, without what has its default. */
export function measureQuery({ settings, k }: MeasureSettings): string {
  const query = new URLSearchParams({ part: 'measure' })
  settings.forEach((setting, index) => {
    const { knowledgeBase, mode, alpha, fusion, reranks } = setting
    const written = new URLSearchParams({
      ...(knowledgeBase === null ? {} : { of: knowledgeBase }),
      ...(mode === DEFAULT_SETTING.mode ? {} : { mode }),
      ...(alpha === null ? {} : { alpha: String(alpha) }),
      ...(fusion === null ? {} : { fusion }),
      ...(reranks ? { rerank: '1' } : {}),
    }).toString()
    if (index > 0 || written !== '') query.set(KEYS[index] ?? '', written)
  })
  if (k !== K_DEFAULT) query.set('k', String(k))
  return `?${query}`
}

function settingOf(written: string): EvaluationSetting {
  const read = new URLSearchParams(written)
  const alpha = Number(read.get('alpha') ?? Number.NaN)
  return {
    knowledgeBase: read.get('of'),
    mode: SEARCH_MODES.find((one) => one === read.get('mode')) ?? DEFAULT_SETTING.mode,
    alpha: alpha >= 0 && alpha <= 1 ? alpha : null,
    fusion: FUSIONS.find((one) => one === read.get('fusion')) ?? null,
    reranks: read.get('rerank') === '1',
  }
}

export interface Measured {
  readonly question: string
  readonly ndcg: number
  readonly recall: number
  /** The rank of the first right document; null: not among those that count. */
  readonly firstRank: number | null
}

export interface Evaluated {
  readonly setting: EvaluationSetting
  readonly k: number
  /** Questions with a right document. */
  readonly questions: readonly Measured[]
  /** For example that the reranking model failed, so something else was measured. */
  readonly warnings: readonly string[]
  readonly meanSeconds: number
}

/** @throws ApiError */
export async function evaluated(
  place: KnowledgeBaseName,
  setting: EvaluationSetting,
  k: number,
  signal: AbortSignal,
): Promise<Evaluated> {
  const { project } = place
  const sql = evaluateStatement(place, setting, k)
  const { rows, columns, warnings } = await runSql({ sql, project, signal })
  const at = (row: readonly unknown[], column: string) => row[columns.indexOf(column)]
  const questions = rows.flatMap((row): readonly Measured[] => {
    const ndcg = at(row, 'ndcg_at_k')
    if (typeof ndcg !== 'number') return []
    const reciprocal = Number(at(row, 'reciprocal_rank'))
    return [
      {
        question: String(at(row, 'question')),
        ndcg,
        recall: Number(at(row, 'recall_at_k')),
        firstRank: reciprocal > 0 ? Math.round(1 / reciprocal) : null,
      },
    ]
  })
  const meanSeconds = mean(rows.map((row) => Number(at(row, 'query_time'))))
  return { setting, k, questions, warnings, meanSeconds }
}

function evaluateStatement(
  place: KnowledgeBaseName,
  { knowledgeBase, mode, alpha, fusion, reranks }: EvaluationSetting,
  k: number,
): string {
  const isHybrid = mode === 'hybrid'
  const options = [
    `test_table = ${literal(judgmentsTable(place))}`,
    `version = 'judgments'`,
    'per_question = true',
    `k = ${k}`,
    `mode = '${mode}'`,
    ...(isHybrid && alpha !== null ? [`alpha = ${alpha}`] : []),
    ...(isHybrid && fusion !== null ? [`fusion = ${literal(fusion)}`] : []),
    `reranking = ${reranks}`,
  ]
  const kb = `${quoted(place.project)}.${quoted(knowledgeBase ?? place.name)}`
  return `EVALUATE KNOWLEDGE_BASE ${kb} USING ${options.join(', ')}`
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / (values.length || 1)
}

/** One question; with two settings, how much the second changed it. */
export interface MeasuredRow {
  readonly first: Measured
  readonly second?: Measured
  /** nDCG of the second less that of the first: above 0 where the second is better. */
  readonly change?: number
}

/** The worst questions first; of two settings those that both have, the most changed first. */
export function rowsOf(results: readonly Pick<Evaluated, 'questions'>[]): readonly MeasuredRow[] {
  const [first, second] = results
  if (first === undefined) return []
  if (second === undefined) {
    const worst = first.questions.toSorted((one, other) => one.ndcg - other.ndcg)
    return worst.map((one) => ({ first: one }))
  }
  const others = new Map(second.questions.map((one) => [one.question, one]))
  return first.questions
    .flatMap((one) => {
      const other = others.get(one.question)
      return other === undefined
        ? []
        : [{ first: one, second: other, change: other.ndcg - one.ndcg }]
    })
    .sort((one, other) => Math.abs(other.change) - Math.abs(one.change))
}

const ROUNDS = 10_000
/** Additions in all, so that many questions do not block the page. */
const WORK_MAX = 20_000_000
/** Rounding: a round with nearly the same sum counts as one as large. */
const NEARLY = 1e-9

/**
 * How likely chance alone makes a difference as large as this one: the share of rounds in which, with a random sign for each
 * question's change, the sum is as far from 0. The same changes always give the same answer.
 */
export function chanceOf(changes: readonly number[]): number {
  const changed = changes.filter((change) => change !== 0)
  if (changed.length === 0) return 1
  const seen = Math.abs(changed.reduce((sum, change) => sum + change, 0)) - NEARLY
  const rounds = Math.min(ROUNDS, Math.ceil(WORK_MAX / changed.length))
  // xorshift32, from the same seed each time.
  let state = 0x9e3779b9
  let asLarge = 0
  for (let round = 0; round < rounds; round += 1) {
    let sum = 0
    for (const change of changed) {
      state ^= state << 13
      state ^= state >>> 17
      state ^= state << 5
      sum += (state & 0x10000) === 0 ? -change : change
    }
    if (Math.abs(sum) >= seen) asLarge += 1
  }
  return (asLarge + 1) / (rounds + 1)
}
