/**
 * `bun bench/quality/train-answers.ts <recorded file>…` fits the built-in agent's weights to searches that
 * `answers.ts --record` wrote, and writes `assets/answers/weights.json`. The printed results are measured on articles
 * that were left out of each fit; see docs/agents/measuring.md.
 */
import { join } from 'node:path'
import { BuiltinEmbedder } from '../../src/models/builtin/builtin-embedder.ts'
import type { Passage } from '../../src/models/builtin/chat/answer-unit.ts'
import {
  callsAround,
  passagesIn,
  withNeighbours,
} from '../../src/models/builtin/chat/observed-passages.ts'
import {
  type FeaturedUnit,
  featuredQuestion,
  inContext,
  type QuestionTerms,
  RANK_FEATURES,
  withCosines,
} from '../../src/models/builtin/chat/unit-features.ts'
import {
  JUDGE_FEATURES,
  judgedFeatures,
  scoredUnits,
  type Weights,
} from '../../src/models/builtin/chat/unit-ranking.ts'
import type { CaseKind, Gold } from './answer-cases.ts'
import { fitLogistic, fitRanking, named } from './fitting.ts'
import type { FoundChunk, RecordedCase } from './recorded-searches.ts'
import { chunksOf, rowsOf } from './replayed-answers.ts'

const WEIGHTS_FILE = join(import.meta.dir, '../../assets/answers/weights.json')
const FOLDS = 8
const EMBEDDED_MAX = 10
const EMBEDDED_CHARS = 240
/** The limit of questions for each kind and collection, and for each pair of collections. */
const QUESTIONS_MAX = 1400
const ELSEWHERE_MAX = 30
/** How much a question of each kind counts for the answerability. */
const KIND_WEIGHTS: Readonly<Record<CaseKind, number>> = {
  answered: 1,
  removed: 0.8,
  impossible: 0.3,
  elsewhere: 0.5,
}
/**
 * The share of answerable questions that may be taken for unanswerable ones, or for doubtful ones.
 */
const LOST_MAX = { none: 0.02, closest: 0.06 }

/** A question without its texts, which is all that fitting needs and saves memory. */
interface Example {
  readonly set: string
  readonly kind: CaseKind
  readonly fold: number
  readonly isEnglish: boolean
  readonly goldDocument: string | null
  readonly question: string
  readonly units: readonly ExampleUnit[]
  readonly terms: Pick<QuestionTerms, 'count' | 'kind'>
  readonly passages: readonly Pick<Passage, 'chunkId' | 'documentId' | 'relevance' | 'cosine'>[]
}

interface ExampleUnit extends FeaturedUnit {
  readonly isGold: boolean
  readonly text: string
}

/** Good enough to choose units to examine. The fitted weights replace them. */
const FIRST_WEIGHTS: Weights = {
  ...{ relevance: 1.5, rank: 1.5, vector: 2, passagePairs: 1.2, held: 2.5, nearby: 2.5 },
  ...{ pairs: 0.8, grams: 3.5, names: 0.5, passageNames: 0.8, date: 1.4, number: 1.4, name: 0.9 },
}
const UNITS_KEPT = 16

function passagesFor(
  found: readonly FoundChunk[],
  chunks: readonly FoundChunk[],
): readonly Passage[] {
  const recorded = { found, chunks }
  const first = passagesIn(rowsOf("SELECT 1 WHERE content = 'q' LIMIT 8", recorded))
  if (first.kind !== 'passages') return []
  const passages = first.passages.map((passage) => ({ ...passage, knowledgeBase: 'one.base' }))
  const around = callsAround(passages).map((call) => {
    return { ...call, observation: rowsOf(call.input, recorded) }
  })
  return withNeighbours(passages, around)
}

function isGold(gold: Gold | null, { unit }: FeaturedUnit): boolean {
  const { place, documentId } = unit.passage
  if (gold === null || place === null || documentId !== gold.documentId) return false
  const [start, end] = [place.start + unit.start, place.start + unit.end]
  return gold.spans.some((span) => start <= span.start && span.end <= end)
}

/**
 * SQuAD 2's articles are folds. Those of XQuAD, with five passages each, join the fold of the
 * article they share.
 */
const ARTICLES = [
  ...['normans', 'computational_complexity_theory', 'huguenot', '1973_oil_crisis'],
  ...['european_union_law', 'packet_switching', 'immune_system', 'yuan_dynasty'],
]
const SHARED: Readonly<Record<number, number>> = {
  ...{ 2: 0, 4: 1, 10: 2, 13: 3, 15: 4, 19: 5, 27: 6, 36: 7 },
}

function foldOf(documentId: string): number {
  const number = /^p(\d+)$/.exec(documentId)?.[1]
  if (number === undefined) return Math.max(0, ARTICLES.indexOf(documentId.replace(/-\d+$/, '')))
  const article = Math.floor(Number(number) / 5)
  return SHARED[article] ?? article % FOLDS
}

const EXCLUDED = /^together|^cranfield/

function examplesOf(cases: readonly RecordedCase[]): readonly Example[] {
  const examples: Example[] = []
  for (const one of cases) {
    if (EXCLUDED.test(one.name) || one.kind === 'removed') continue
    const [set = ''] = one.name.split(' < ')
    const chunks = chunksOf(
      cases.filter(({ knowledgeBase }) => knowledgeBase === one.knowledgeBase),
    )
    const max = one.kind === 'elsewhere' ? ELSEWHERE_MAX : QUESTIONS_MAX
    for (const { text, gold, found } of one.questions.slice(0, max)) {
      const add = (kind: CaseKind, answer: Gold | null, from: string, gone: string | null) => {
        const isLeft = ({ id }: FoundChunk) => id !== gone
        const passages = passagesFor(found.filter(isLeft), chunks.filter(isLeft))
        const { terms, units } = featuredQuestion(text, passages)
        if (units.length === 0) return
        examples.push({
          ...{ set, kind, question: text, goldDocument: answer?.documentId ?? null },
          fold: kind === 'elsewhere' ? text.length % FOLDS : foldOf(from),
          isEnglish: terms.kind === 'english',
          units: scoredUnits(units, FIRST_WEIGHTS)
            .slice(0, UNITS_KEPT)
            .map(({ score: _, ...unit }) => {
              return { ...bare(unit), isGold: isGold(answer, unit), text: textOf(unit) }
            }),
          terms: { count: terms.count, kind: terms.kind },
          passages: passages.map(({ chunkId, documentId, relevance, cosine = 0 }) => {
            return { chunkId, documentId, relevance, cosine }
          }),
        })
      }
      if (gold === null) add(one.kind, null, found[0]?.id ?? '', null)
      else {
        add('answered', gold, gold.documentId, null)
        add('removed', null, gold.documentId, gold.documentId)
      }
    }
  }
  return examples
}

function textOf({ unit }: FeaturedUnit): string {
  return inContext(unit).slice(0, EMBEDDED_CHARS)
}

/** Leaves out the stretch, which contains all the text that was read. */
function bare(one: FeaturedUnit): FeaturedUnit {
  const { documentId, chunkId } = one.unit.passage
  const passage = { documentId, chunkId } as Passage
  return { ...one, unit: { passage } as FeaturedUnit['unit'] }
}

async function vectorsOf(texts: ReadonlySet<string>): Promise<ReadonlyMap<string, Float32Array>> {
  const embedder = new BuiltinEmbedder()
  const vectors = new Map<string, Float32Array>()
  const all = [...texts]
  for (let at = 0; at < all.length; at += 32) {
    const part = all.slice(at, at + 32)
    const made = await embedder.embed(part, new AbortController().signal)
    for (const [index, vector] of made.entries()) vectors.set(part[index] ?? '', vector)
  }
  await embedder.close()
  return vectors
}

const plainNames = RANK_FEATURES.filter((name) => name !== 'cosine' && name !== 'bestCosine')

function rankingRows(
  examples: readonly Example[],
  names: readonly (typeof RANK_FEATURES)[number][],
) {
  return examples
    .filter(({ kind }) => kind === 'answered')
    .map(({ units }) => {
      return units.map(({ features, isGold }) => {
        return { values: names.map((name) => features[name]), isRight: isGold }
      })
    })
}

interface Fitted {
  readonly english: Weights
  readonly words: Weights
  readonly other: Weights
}

function fitted(examples: readonly Example[], ranked: readonly Example[]): Fitted {
  const english = examples.filter(({ isEnglish }) => isEnglish)
  const other = examples.filter(({ isEnglish }) => !isEnglish)
  return {
    english: named(RANK_FEATURES, fitRanking(rankingRows(ranked, RANK_FEATURES))),
    words: named(plainNames, fitRanking(rankingRows(english, plainNames))),
    other: named(plainNames, fitRanking(rankingRows(other, plainNames))),
  }
}

function judged({ units, terms, passages, isEnglish }: Example, { words, other }: Fitted) {
  const scored = scoredUnits(units, isEnglish ? words : other)
  const features = judgedFeatures(scored, terms, passages, 'documentId')
  return JUDGE_FEATURES.map((name) => features?.[name] ?? 0)
}

function judgeRows(examples: readonly Example[], weights: Fitted) {
  return examples.map((one) => ({
    values: judged(one, weights),
    isRight: one.kind === 'answered',
    weight: KIND_WEIGHTS[one.kind],
  }))
}

const share = (count: number, of: number) => (of === 0 ? '' : (count / of).toFixed(3))

const files = process.argv.slice(2)
if (files.length === 0) throw new Error('bun bench/quality/train-answers.ts <recorded file>…')
const examples: Example[] = []
for (const file of files) examples.push(...examplesOf(await Bun.file(file).json()))

const chosen = examples
  .filter(({ isEnglish, kind }) => isEnglish && kind === 'answered')
  .map((one) => ({ ...one, units: one.units.slice(0, EMBEDDED_MAX) }))
const vectors = await vectorsOf(
  new Set(chosen.flatMap(({ question, units }) => [question, ...units.map(({ text }) => text)])),
)
const ranked = chosen.map((one) => {
  const question = vectors.get(one.question)
  const cosines = one.units.map(({ text }) => {
    const vector = vectors.get(text)
    return vector?.reduce((sum, value, at) => sum + value * (question?.[at] ?? 0), 0) ?? 0
  })
  const units = withCosines(one.units, cosines).map((unit, index) => {
    return { ...unit, isGold: one.units[index]?.isGold ?? false, text: '' }
  })
  return { ...one, units }
})

/** Rates each article with weights that were fitted without it. */
const folds = Array.from({ length: FOLDS }, (_, fold) => {
  const rest = examples.filter((one) => one.fold !== fold)
  const weights = fitted(
    rest,
    ranked.filter((one) => one.fold !== fold),
  )
  return { weights, judge: fitLogistic(judgeRows(rest, weights)) }
})

const sets = [...new Set(examples.map(({ set }) => set))]
console.log('the bold sentence, and its passage, are right')
for (const set of sets) {
  const own = [...ranked, ...examples.filter(({ isEnglish }) => !isEnglish)].filter((one) => {
    return one.set === set && one.kind === 'answered'
  })
  let [right, passage] = [0, 0]
  for (const one of own) {
    const weights = folds[one.fold]?.weights
    if (weights === undefined) continue
    const [best] = scoredUnits(one.units, one.isEnglish ? weights.english : weights.other)
    // Scored units keep their source data.
    right += Number((best as ExampleUnit | undefined)?.isGold ?? false)
    passage += Number(best?.unit.passage.documentId === one.goldDocument)
  }
  console.log(`  ${set} ${own.length}: ${share(right, own.length)} ${share(passage, own.length)}`)
}

const scores = examples.map((one) => {
  const fold = folds[one.fold]
  return fold === undefined ? 0 : fold.judge.score(judged(one, fold.weights))
})
const ofAnswered = examples.flatMap(({ kind, set }, at) => {
  return kind === 'answered' ? [{ set, score: scores[at] ?? 0 }] : []
})
const quantile = (set: string, part: number) => {
  const own = ofAnswered.filter((one) => one.set === set).map(({ score }) => score)
  return own.sort((a, b) => a - b)[Math.floor(part * own.length)] ?? 0
}
const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length
const thresholds = {
  closest: Math.min(
    ...sets.map((set) => quantile(set, 0.03)),
    mean(sets.map((set) => quantile(set, LOST_MAX.none))),
  ),
  answer: mean(sets.map((set) => quantile(set, LOST_MAX.closest))),
}
console.log('shares below the thresholds', thresholds)
for (const set of sets) {
  const cells = Object.keys(KIND_WEIGHTS).flatMap((kind) => {
    const own = examples.flatMap((one, at) =>
      one.set === set && one.kind === kind ? [scores[at] ?? 0] : [],
    )
    if (own.length === 0) return []
    const below = (threshold: number) =>
      share(own.filter((one) => one < threshold).length, own.length)
    const positives = ofAnswered.filter((one) => one.set === set).map(({ score }) => score)
    const wins = own.reduce(
      (sum, score) => sum + positives.filter((other) => other > score).length,
      0,
    )
    const auc = kind === 'answered' ? '' : ` AUC ${share(wins, own.length * positives.length)}`
    return [
      `${kind} none ${below(thresholds.closest)} closest or none ${below(thresholds.answer)}${auc}`,
    ]
  })
  console.log(`  ${set}: ${cells.join(' | ')}`)
}

const weights = fitted(examples, ranked)
const judge = fitLogistic(judgeRows(examples, weights))
const answerable = named(JUDGE_FEATURES, judge.weights)
// The limits below which relevance is too low are set by hand: questions with an answer are rarely
// below.
const { floors } = await Bun.file(WEIGHTS_FILE).json()
await Bun.write(
  WEIGHTS_FILE,
  `${JSON.stringify({ ...weights, answerable, thresholds, floors }, null, 2)}\n`,
)
