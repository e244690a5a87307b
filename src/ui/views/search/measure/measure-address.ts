/** What is measured, as it stands in the address. */
import { FUSIONS, SEARCH_MODES } from '../../../../core/domain/hybrid-search.ts'
import { DEFAULT_SETTING, type EvaluationSetting } from './evaluation.ts'

export interface MeasureSettings {
  /** One, or two to compare. */
  readonly settings: readonly EvaluationSetting[]
  /** How many results count. */
  readonly k: number
}

export const KS = [1, 3, 5, 10, 20]
const K_DEFAULT = 10
const KEYS = ['a', 'b'] as const

type Query = Readonly<Record<string, string | undefined>>

export function measureSettingsOf(query: Query): MeasureSettings {
  const k = Number(query.k)
  const second = query.b === undefined ? [] : [settingOf(query.b)]
  return {
    settings: [settingOf(query.a ?? ''), ...second],
    k: KS.includes(k) ? k : K_DEFAULT,
  }
}

/** `?part=measure&a=mode=vector&k=5`; what is as ever is left out. */
export function measureQuery({ settings, k }: MeasureSettings): string {
  const query = new URLSearchParams({ part: 'measure' })
  settings.forEach((setting, index) => {
    const written = writtenSetting(setting)
    if (index > 0 || written !== '') query.set(KEYS[index] ?? '', written)
  })
  if (k !== K_DEFAULT) query.set('k', String(k))
  return `?${query}`
}

/** `mode=vector&alpha=0.3`; empty for the default. */
export function writtenSetting({
  knowledgeBase,
  mode,
  alpha,
  fusion,
  reranks,
}: EvaluationSetting): string {
  return new URLSearchParams({
    ...(knowledgeBase === null ? {} : { of: knowledgeBase }),
    ...(mode === DEFAULT_SETTING.mode ? {} : { mode }),
    ...(alpha === null ? {} : { alpha: String(alpha) }),
    ...(fusion === null ? {} : { fusion }),
    ...(reranks ? { rerank: '1' } : {}),
  }).toString()
}

export function settingOf(written: string): EvaluationSetting {
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
