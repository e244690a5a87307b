import type { Options } from './options.ts'
import { type QualifiedName, qualifiedName } from './qualified-name.ts'
import type { StatementReader } from './statement-reader.ts'

export type AgentStatement =
  | {
      readonly kind: 'create_agent'
      readonly name: QualifiedName
      readonly ifNotExists: boolean
      readonly options: Options
    }
  /** `ALTER AGENT a USING …` and `UPDATE AGENT a SET …`. */
  | { readonly kind: 'alter_agent'; readonly name: QualifiedName; readonly options: Options }
  | { readonly kind: 'drop_agent'; readonly name: QualifiedName; readonly ifExists: boolean }
  | { readonly kind: 'describe_agent'; readonly name: QualifiedName }

const WHAT = 'an agent'

export function agentStatement(read: StatementReader): AgentStatement | undefined {
  if (read.takeWords('create', 'agent')) {
    const ifNotExists = read.takeWords('if', 'not', 'exists')
    const name = qualifiedName(read, WHAT)
    const options = read.takeWords('using') ? read.options() : {}
    return { kind: 'create_agent', name, ifNotExists, options }
  }
  if (read.takeWords('alter', 'agent')) {
    const name = qualifiedName(read, WHAT)
    read.expectWord('using')
    return { kind: 'alter_agent', name, options: read.options() }
  }
  if (read.takeWords('update', 'agent')) {
    const name = qualifiedName(read, WHAT)
    read.expectWord('set')
    return { kind: 'alter_agent', name, options: read.options() }
  }
  if (read.takeWords('drop', 'agent')) {
    const ifExists = read.takeWords('if', 'exists')
    return { kind: 'drop_agent', name: qualifiedName(read, WHAT), ifExists }
  }
  if (read.takeWords('describe', 'agent')) {
    return { kind: 'describe_agent', name: qualifiedName(read, WHAT) }
  }
  return undefined
}
