import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import type { ColumnCondition, ConditionValue } from '../../core/domain/column-condition.ts'
import { AppError, ERRORS } from '../../core/errors.ts'
import { LruMap } from '../../core/runtime/lru-map.ts'
import {
  holdsMarks,
  MarkedText,
  plainTokens,
  type StatementShape,
  shapeOf,
} from '../../sql/lexer/statement-shape.ts'
import type { Token } from '../../sql/lexer/tokens.ts'
import type { CandidatePlan, SelectPlan } from './plan-cache.ts'

const SHAPES_MAX = 500
const SHAPE_CHARS_MAX = 4_000
const PLAN_CHARS_MAX = 100_000

/** `seen`: one was planned. `kept`: values at marks change the plan. `never`: no sharing. */
type KnownShape =
  | { readonly kind: 'seen' | 'never' }
  | { readonly kind: 'kept'; readonly marks: readonly string[] }
  | { readonly kind: 'shared'; readonly template: PlanTemplate }

interface SharingRequest {
  readonly sql: string
  /** The tokens of `sql`, if it was already tokenized in the standard way. */
  readonly tokens: readonly Token[] | undefined
  readonly scope: string
  readonly versions: Pick<CatalogSnapshot, 'definitionsVersion' | 'limits'>
}

/**
 * Shares plans between statements that differ only in plain values, such as `price < 5` and `price
 * < 7` (statements of the same shape). The second statement of a shape is planned with marks for
 * its values. From the third on, plans are assembled from that and are exactly what planning would
 * return. If this fails for a shape, its statements are always planned.
 */
export class SharedPlans {
  readonly #shapes = new LruMap<string, KnownShape>({ sizeMax: SHAPES_MAX })

  /**
   * @param plan plans a text; undefined if its plan cannot be used for another text
   * @returns undefined if planning returned nothing; `isNew` means planned for this text alone
   */
  async plan(
    request: SharingRequest,
    plan: (sql: string) => Promise<SelectPlan | undefined>,
  ): Promise<{ readonly plan: SelectPlan; readonly isNew: boolean } | undefined> {
    const found = this.#find(request)
    const known = found === null ? undefined : this.#shapes.get(found.key)
    if (found !== null && known?.kind === 'shared') {
      return { plan: known.template.with(found.shape.literals), isNew: false }
    }
    const planned = await plan(request.sql)
    if (planned === undefined) return undefined
    if (found !== null && known === undefined) this.#shapes.set(found.key, { kind: 'seen' })
    if (found !== null && known?.kind === 'seen') await this.#learn(found, planned, plan)
    return { plan: planned, isNew: true }
  }

  #find({ sql, tokens: known, scope, versions }: SharingRequest): FoundShape | null {
    if (sql.length > SHAPE_CHARS_MAX) return null
    // Text with backslashes can be read in two ways.
    const tokens = sql.includes('\\') ? [] : (known ?? plainTokens(sql))
    const { definitionsVersion, limits } = versions
    const keyOf = (shape: string) => {
      return `${definitionsVersion}\0${limits?.key ?? ''}\0${scope}\0${shape}`
    }
    const whole = shapeOf(sql, tokens)
    if (whole === null) return null
    const key = keyOf(whole.sql)
    const shared = this.#shapes.get(key)
    if (shared?.kind !== 'kept') return { shape: whole, key }
    const kept = new Set(shared.marks.map((mark) => whole.literals.get(mark) ?? ''))
    const shape = shapeOf(sql, tokens, kept)
    return shape && { shape, key: keyOf(shape.sql) }
  }

  async #learn(
    { shape, key }: FoundShape,
    planned: SelectPlan,
    plan: (sql: string) => Promise<SelectPlan | undefined>,
  ): Promise<void> {
    const marked = await plan(shape.sql).catch((error: unknown) => {
      if (error instanceof AppError && ERRORS[error.code].status < 499) return undefined
      throw error
    })
    this.#shapes.set(key, marked === undefined ? { kind: 'never' } : learnt(shape, marked, planned))
  }
}

interface FoundShape {
  readonly shape: StatementShape
  readonly key: string
}

function learnt(shape: StatementShape, marked: SelectPlan, planned: SelectPlan): KnownShape {
  const { marks: free = new Map<string, number>(), ...plan } = marked
  const all = new MarkedText(shape.sql).marks
  const kept = [...shape.literals.keys()].filter((mark) => {
    return (free.get(mark) ?? 0) !== all.filter((one) => one === mark).length
  })
  if (kept.length > 0) {
    return kept.length < shape.literals.size ? { kind: 'kept', marks: kept } : { kind: 'never' }
  }
  if (!isShareable(plan)) return { kind: 'never' }
  const template = new PlanTemplate(plan)
  const isSame = Bun.deepEquals(template.with(shape.literals), { ...planned, constant: null })
  return isSame ? { kind: 'shared', template } : { kind: 'never' }
}

/** Whether the values appear only in the texts of the plan's statements. */
function isShareable(plan: SelectPlan): boolean {
  const {
    sql,
    candidates,
    document: _,
    agents,
    rerankings,
    innerPlans,
    readsCatalog,
    ...rest
  } = plan
  if (agents.length > 0 || rerankings.length > 0 || innerPlans.size > 0 || readsCatalog)
    return false
  if (plan.reads.length > 0) return false
  const others = candidates?.requests.map(({ prefilter: _, ...request }) => request)
  return sql.length <= PLAN_CHARS_MAX && !holdsMarks(JSON.stringify([rest, others]))
}

class PlanTemplate {
  readonly #plan: SelectPlan
  readonly #sql: MarkedText
  readonly #candidates: MarkedText
  readonly #prefilters: readonly MarkedText[]

  constructor(plan: SelectPlan) {
    this.#plan = plan
    this.#sql = new MarkedText(plan.sql)
    this.#candidates = new MarkedText(plan.candidates?.sql ?? '')
    const requests = plan.candidates?.requests ?? []
    this.#prefilters = requests.map(({ prefilter }) => new MarkedText(prefilter?.sql ?? ''))
  }

  with(literals: StatementShape['literals']): SelectPlan {
    const { candidates, document } = this.#plan
    return {
      ...this.#plan,
      // An answer is valid for one text only.
      constant: null,
      sql: this.#sql.with(literals),
      document: document && { ...document, id: valueWith(document.id, literals) },
      candidates: candidates && this.#candidatesWith(candidates, literals),
    }
  }

  #candidatesWith(candidates: CandidatePlan, literals: StatementShape['literals']): CandidatePlan {
    const requests = candidates.requests.map((request, index) => {
      if (request.prefilter === null) return request
      const sql = this.#prefilters[index]?.with(literals) ?? ''
      const { condition: marked } = request.prefilter
      const condition = marked && withLiterals(marked, literals)
      return { ...request, prefilter: { ...request.prefilter, sql, condition } }
    })
    return { ...candidates, sql: this.#candidates.with(literals), requests }
  }
}

function withLiterals(
  condition: ColumnCondition,
  literals: StatementShape['literals'],
): ColumnCondition {
  if ('parts' in condition) {
    return { ...condition, parts: condition.parts.map((part) => withLiterals(part, literals)) }
  }
  if ('part' in condition) return { ...condition, part: withLiterals(condition.part, literals) }
  if (!('value' in condition)) return condition
  return { ...condition, value: valueWith(condition.value, literals) }
}

function valueWith(value: ConditionValue, literals: StatementShape['literals']): ConditionValue {
  return 'written' in value ? { written: literals.get(value.written) ?? value.written } : value
}
