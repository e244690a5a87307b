import type { StatementReader } from './statement-reader.ts'

/** What changes nothing but what the answer says, or a variable. */
export type SessionStatement = { readonly kind: 'use'; readonly database: string }

export function sessionStatement(read: StatementReader): SessionStatement | undefined {
  if (read.takeWords('use')) return { kind: 'use', database: read.name('a project') }
  return undefined
}
