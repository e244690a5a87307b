import type { Options, QualifiedName, StatementReader } from './statement-reader.ts'

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
    const name = read.qualifiedName(WHAT)
    const options = read.takeWords('using') ? read.options() : {}
    return { kind: 'create_agent', name, ifNotExists, options }
  }
  if (read.takeWords('alter', 'agent')) {
    const name = read.qualifiedName(WHAT)
    read.expectWord('using')
    return { kind: 'alter_agent', name, options: read.options() }
  }
  if (read.takeWords('update', 'agent')) {
    const name = read.qualifiedName(WHAT)
    read.expectWord('set')
    return { kind: 'alter_agent', name, options: read.options() }
  }
  if (read.takeWords('drop', 'agent')) {
    const ifExists = read.takeWords('if', 'exists')
    return { kind: 'drop_agent', name: read.qualifiedName(WHAT), ifExists }
  }
  if (read.takeWords('describe', 'agent')) {
    return { kind: 'describe_agent', name: read.qualifiedName(WHAT) }
  }
  return undefined
}
