import { nameKey } from '../domain/identifier.ts'
import type { KnowledgeBase } from '../domain/knowledge-base.ts'
import { fullName } from './resolved-data.ts'

export interface NamingScope {
  readonly knowledgeBases: readonly KnowledgeBase[]
  /** The project of names without a qualifier. */
  readonly project: string
}

/**
 * The knowledge bases whose names stand in a statement, in a superset: a name inside a text or a
 * comment counts too.
 */
export function namedKnowledgeBases(sql: string, scope: NamingScope): readonly KnowledgeBase[] {
  const unquoted = nameKey(sql).replaceAll(/["`]/g, '')
  const text = unquoted
    .split('.')
    .map((part) => part.trim())
    .join('.')
  const home = nameKey(scope.project)
  return scope.knowledgeBases.filter((kb) => {
    if (standsIn(text, nameKey(fullName(kb)))) return true
    return nameKey(kb.projectName) === home && standsIn(text, nameKey(kb.name))
  })
}

/**
 * Whether a name stands in a text by itself, neither as a part of a longer one nor behind a
 * qualifier.
 */
function standsIn(text: string, name: string): boolean {
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + 1)) {
    const before = text.slice(Math.max(0, at - 1), at)
    const after = text.slice(at + name.length, at + name.length + 1)
    if (!/[\p{L}\p{N}_.]/u.test(before) && !/[\p{L}\p{N}_]/u.test(after)) return true
  }
  return false
}
