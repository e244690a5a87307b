import type { QualifiedName, StatementReader } from './statement-reader.ts'

export type JobStatement =
  | {
      readonly kind: 'create_job'
      readonly name: QualifiedName
      readonly ifNotExists: boolean
      readonly query: string
      readonly ifQuery: string | null
      readonly start: string | null
      readonly end: string | null
      readonly every: string | null
    }
  | { readonly kind: 'drop_job'; readonly name: QualifiedName; readonly ifExists: boolean }

const WHAT = 'a job'

export function jobStatement(read: StatementReader): JobStatement | undefined {
  if (read.takeWords('drop', 'job')) {
    const ifExists = read.takeWords('if', 'exists')
    return { kind: 'drop_job', ifExists, name: read.qualifiedName(WHAT) }
  }
  if (!read.takeWords('create', 'job')) return undefined
  const ifNotExists = read.takeWords('if', 'not', 'exists')
  const name = read.qualifiedName(WHAT)
  read.takeWords('as')
  const query = read.enclosedText()
  const found: { start?: string; end?: string; every?: string; ifQuery?: string } = {}
  for (;;) {
    if (found.start === undefined && read.takeWords('start')) found.start = time(read)
    else if (found.end === undefined && read.takeWords('end')) found.end = time(read)
    else if (found.every === undefined && read.takeWords('every')) found.every = period(read)
    else if (found.ifQuery === undefined && read.takeWords('if'))
      found.ifQuery = read.enclosedText()
    else break
  }
  const { start = null, end = null, every = null, ifQuery = null } = found
  return { kind: 'create_job', name, ifNotExists, query, start, end, every, ifQuery }
}

/** `now`, or a time in quotes. */
function time(read: StatementReader): string {
  return read.peekWord() === undefined ? read.string() : read.name('a time')
}

/** `hour`, `2 hours`, or either of them or a cron expression in quotes. */
function period(read: StatementReader): string {
  const count = read.takeNumber()
  if (count !== undefined) return `${count} ${read.name('a period')}`
  return read.peekWord() === undefined ? read.string() : read.name('a period')
}
