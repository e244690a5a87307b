/** Reads a collection in the layout of BEIR: `corpus.jsonl`, `queries.jsonl`, `qrels/test.tsv`. */
import { join } from 'node:path'

export interface BeirCollection {
  readonly documents: readonly BeirDocument[]
  /** The questions that have judgments, in the order of the file. */
  readonly questions: readonly JudgedQuestion[]
}

export interface BeirDocument {
  readonly id: string
  readonly content: string
  /** The title if it is separate from the content, as for a file. */
  readonly title: string | null
}

/**
 * Where the title of a document goes: before its text, beside it so that only vectors use it,
 * before it as a Markdown heading, or nowhere.
 */
export const TITLE_PLACES = ['text', 'apart', 'heading', 'none'] as const
export type TitlePlace = (typeof TITLE_PLACES)[number]

export interface JudgedQuestion {
  readonly id: string
  readonly text: string
  /** Maps documents to grades. */
  readonly judgments: ReadonlyMap<string, number>
}

/** @throws Error that names the file and the line that cannot be read */
export async function beirCollection(
  folder: string,
  place: TitlePlace = 'text',
): Promise<BeirCollection> {
  const documents: BeirDocument[] = []
  for await (const line of linesOf(join(folder, 'corpus.jsonl'))) {
    const { _id = '', title = '', text = '' } = fieldsOf(line, ['_id', 'text'])
    const heading = { text: `${title}\n`, heading: `# ${title}\n\n`, apart: '', none: '' }[place]
    const content = title === '' ? text : heading + text
    documents.push({ id: _id, content, title: place === 'apart' && title !== '' ? title : null })
  }
  const judgments = await judgmentsOf(join(folder, 'qrels', 'test.tsv'))
  const questions: JudgedQuestion[] = []
  for await (const line of linesOf(join(folder, 'queries.jsonl'))) {
    const { _id = '', text = '' } = fieldsOf(line, ['_id', 'text'])
    const judged = judgments.get(_id)
    if (judged !== undefined) questions.push({ id: _id, text, judgments: judged })
  }
  return { documents, questions }
}

export interface Line {
  /** For messages, such as `corpus.jsonl:17`. */
  readonly place: string
  readonly text: string
}

export async function* linesOf(path: string): AsyncGenerator<Line> {
  const file = Bun.file(path)
  if (!(await file.exists())) throw new Error(`There is no file ${path}`)
  const decoder = new TextDecoder()
  let rest = ''
  let number = 0
  const line = (text: string): Line => {
    number += 1
    return { place: `${path}:${number}`, text: text.trimEnd() }
  }
  for await (const bytes of file.stream()) {
    const parts = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = parts.pop() ?? ''
    yield* parts.map(line).filter(({ text }) => text !== '')
  }
  if (rest.trim() !== '') yield line(rest)
}

function fieldsOf(line: Line, required: readonly string[]): Readonly<Record<string, string>> {
  let value: unknown
  try {
    value = JSON.parse(line.text)
  } catch {
    throw new Error(`${line.place}: no JSON`)
  }
  const entries = Object.entries(value ?? {}).filter((entry): entry is [string, string] => {
    return typeof entry[1] === 'string'
  })
  const fields = Object.fromEntries(entries)
  const missing = required.filter((name) => fields[name] === undefined)
  if (missing.length === 0) return fields
  throw new Error(`${line.place}: no text in ${missing.join(', ')}`)
}

/** Maps questions to documents to grades, from lines `query-id <tab> corpus-id <tab> score`. */
async function judgmentsOf(path: string): Promise<ReadonlyMap<string, Map<string, number>>> {
  const judgments = new Map<string, Map<string, number>>()
  let isHeader = true
  for await (const { place, text } of linesOf(path)) {
    const [questionId = '', documentId = '', score = ''] = text.split('\t')
    const grade = score.trim() === '' ? Number.NaN : Number(score)
    const wasHeader = isHeader
    isHeader = false
    if (wasHeader && Number.isNaN(grade)) continue
    if (!Number.isFinite(grade)) throw new Error(`${place}: no grade in the third column`)
    const judged = judgments.get(questionId) ?? new Map<string, number>()
    judgments.set(questionId, judged.set(documentId, grade))
  }
  return judgments
}
