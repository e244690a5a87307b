/** Questions about knowledge bases from XQuAD: with an answer, and of several kinds without. */
import { join } from 'node:path'
import { type BeirDocument, beirCollection, linesOf } from './beir-collection.ts'

/**
 * `answered`: the passage is present. `removed`: all but the passage is present. `impossible`: the
 * passage seems to answer.
 * `elsewhere`: the question is from another collection.
 */
export type CaseKind = 'answered' | 'removed' | 'impossible' | 'elsewhere'

/** One knowledge base and the questions for its agent. */
export interface AnswerCase {
  readonly name: string
  readonly kind: CaseKind
  readonly knowledgeBase: string
  readonly questions: readonly AskedQuestion[]
}

export interface AskedQuestion {
  readonly text: string
  /** Null if the knowledge base has no answer. */
  readonly gold: Gold | null
}

/** The position of the answer. */
export interface Gold {
  readonly documentId: string
  /** Any of these answers, in code units of the document's content. */
  readonly spans: readonly GoldSpan[]
  /** The content of `documentId`. */
  readonly content: string
}

export interface GoldSpan {
  readonly start: number
  readonly end: number
}

export interface FilledBase {
  readonly name: string
  readonly documents: readonly BeirDocument[]
}

export interface AnswerCases {
  readonly knowledgeBases: readonly FilledBase[]
  readonly cases: readonly AnswerCase[]
}

interface Collection {
  readonly name: string
  readonly documents: readonly BeirDocument[]
  /** Questions have no position if the collection has none. */
  readonly questions: readonly AskedQuestion[]
  readonly impossible: readonly AskedQuestion[]
}

/** The knowledge base with all collections. */
const TOGETHER = 'together'

/**
 * Makes cases from each collection alone and from all together: the questions with their passage, those of every second
 * passage where these are
 * left out, and those of the other collections.
 * @param folder the folder with the collections @param limit the number of questions of each kind, spread over all
 */
export async function answerCases(
  folder: string,
  names: readonly string[],
  limit: number,
): Promise<AnswerCases> {
  const collections = await Promise.all(names.map((name) => collectionOf(folder, name)))
  const answered = collections.filter(hasAnswers)
  const all = answered.length < 2 ? collections : [...collections, together(answered)]
  const knowledgeBases = all.flatMap((collection) => {
    const { name, documents } = collection
    const whole = { name: baseName(name), documents }
    const kept = documents.filter((one) => !isLeftOut(one.id))
    return hasAnswers(collection) ? [whole, { name: halfName(name), documents: kept }] : [whole]
  })
  const cases = all.flatMap((collection) => casesOf(collection, collections, limit))
  return { knowledgeBases, cases }
}

function hasAnswers({ questions }: Collection): boolean {
  return questions.some(({ gold }) => gold !== null)
}

function casesOf(
  { name, questions, impossible }: Collection,
  collections: readonly Collection[],
  limit: number,
): readonly AnswerCase[] {
  const answered = questions.filter(({ gold }) => gold !== null)
  const removed = answered
    .filter(({ gold }) => isLeftOut(gold?.documentId ?? ''))
    .map(({ text }) => ({ text, gold: null }))
  const others = collections
    .filter((other) => name !== TOGETHER && other.name !== name)
    .map((other) => ({
      name: `${name} < ${other.name}`,
      kind: 'elsewhere' as const,
      knowledgeBase: baseName(name),
      questions: spread(
        other.questions.map(({ text }) => ({ text, gold: null })),
        Math.min(limit, ELSEWHERE_MAX),
      ),
    }))
  const whole = baseName(name)
  const here: readonly AnswerCase[] = [
    { name, kind: 'answered', knowledgeBase: whole, questions: spread(answered, limit) },
    { name, kind: 'removed', knowledgeBase: halfName(name), questions: spread(removed, limit) },
    { name, kind: 'impossible', knowledgeBase: whole, questions: spread(impossible, limit) },
  ]
  return [...here.filter((one) => one.questions.length > 0), ...others]
}

/** The limit of questions from one collection for another one's agent, because many pairs exist. */
const ELSEWHERE_MAX = 150

function spread<T>(items: readonly T[], limit: number): readonly T[] {
  if (items.length <= limit) return items
  return Array.from(
    { length: limit },
    (_, at) => items[Math.floor((at * items.length) / limit)],
  ).flatMap((item) => (item === undefined ? [] : [item]))
}

function baseName(name: string): string {
  return name.replaceAll('-', '_')
}

function halfName(name: string): string {
  return `${baseName(name)}_half`
}

/**
 * Leaves out every second document: the first of `p0`, `p1`, …, and the same ones among
 * translations.
 */
function isLeftOut(id: string): boolean {
  return Number(/\d+$/.exec(id)?.[0] ?? 0) % 2 === 1
}

function together(collections: readonly Collection[]): Collection {
  return {
    name: TOGETHER,
    impossible: [],
    documents: collections.flatMap(({ name, documents }) => {
      return documents.map((one) => ({ ...one, id: `${name}:${one.id}` }))
    }),
    questions: interleaved(
      collections.map(({ name, questions }) => {
        return questions.map(({ text, gold }) => {
          const named = `${name}:${gold?.documentId}`
          return { text, gold: gold === null ? null : { ...gold, documentId: named } }
        })
      }),
    ),
  }
}

/** Mixes the lists, so that the first items are from all of them. */
function interleaved<T>(lists: readonly (readonly T[])[]): readonly T[] {
  const longest = Math.max(...lists.map((list) => list.length))
  return Array.from({ length: longest }, (_, at) =>
    lists.flatMap((list) => list.slice(at, at + 1)),
  ).flat()
}

async function collectionOf(folder: string, name: string): Promise<Collection> {
  const { documents, questions } = await beirCollection(join(folder, name))
  const contents = new Map(documents.map(({ id, content }) => [id, content]))
  const golds = await goldsOf(join(folder, name, 'answers.jsonl'), contents)
  return {
    name,
    documents,
    questions: questions.map(({ id, text }) => ({ text, gold: golds.get(id) ?? null })),
    impossible: await impossibleOf(join(folder, name, 'impossible.jsonl')),
  }
}

interface AnswerLine {
  readonly _id: string
  readonly passage: string
  readonly answers: readonly { readonly text: string; readonly start: number }[]
}

/** Returns the position of each question's answer; none for a collection without that file. */
async function goldsOf(
  path: string,
  contents: ReadonlyMap<string, string>,
): Promise<ReadonlyMap<string, Gold>> {
  const golds = new Map<string, Gold>()
  if (!(await Bun.file(path).exists())) return golds
  for await (const line of linesOf(path)) {
    const { _id, passage, answers }: AnswerLine = JSON.parse(line.text)
    const content = contents.get(passage)
    if (content === undefined) throw new Error(`${line.place}: no passage`)
    const spans = answers.map((answer) => spanIn(content, answer))
    if (spans.length === 0) throw new Error(`${line.place}: no answer`)
    golds.set(_id, { documentId: passage, spans, content })
  }
  return golds
}

/** The offsets count code points, and those of a passage with a title start below the title. */
function spanIn(content: string, answer: AnswerLine['answers'][number]): GoldSpan {
  for (const from of [0, content.indexOf('\n') + 1]) {
    const start = from + [...content.slice(from)].slice(0, answer.start).join('').length
    const end = start + answer.text.length
    if (content.slice(start, end) === answer.text) return { start, end }
  }
  throw new Error(`${answer.text}: not in its passage at ${answer.start}`)
}

async function impossibleOf(path: string): Promise<readonly AskedQuestion[]> {
  const questions: AskedQuestion[] = []
  if (!(await Bun.file(path).exists())) return questions
  for await (const { text: line } of linesOf(path)) {
    const { text }: { readonly text: string } = JSON.parse(line)
    questions.push({ text, gold: null })
  }
  return questions
}
