import type { StatementReader } from './statement-reader.ts'

/** A name in a project, or in that of the request. */
export interface QualifiedName {
  readonly project: string | null
  readonly name: string
}

/** @param what `a knowledge base`, for the message when there is no name */
export function qualifiedName(read: StatementReader, what: string): QualifiedName {
  const first = read.name(`the name of ${what}`)
  if (!read.takeSymbol('.')) return { project: null, name: first }
  const name = read.name(`the name of ${what}`)
  if (read.takeSymbol('.')) {
    throw read.expected('a name of one or two parts', 'a third part')
  }
  return { project: first, name }
}
