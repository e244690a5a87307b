/**
 * LIKE and GLOB with several wildcards: DuckDB 1.5.5 tries every place for each of them, so that six in a row take a minute
 * for a text of a hundred characters. A regular expression finds the same in one pass.
 */
import { callNode, caseNode } from '../ast/build-expression.ts'
import {
  columnNames,
  constantText,
  isColumn,
  nodesOf,
  replace,
  type TreeNode,
  type TreeValue,
  textNode,
  textValue,
  truthNode,
  walk,
} from '../ast/select-ast.ts'

interface Kind {
  readonly many: string
  readonly single: string
  readonly flags: string
  readonly isNegated: boolean
}

const like = (flags: string, isNegated: boolean): Kind => {
  return { many: '%', single: '_', flags, isNegated }
}

const KINDS: Readonly<Record<string, Kind>> = {
  '~~': like('s', false),
  '!~~': like('s', true),
  '~~*': like('is', false),
  '!~~*': like('is', true),
  like_escape: like('s', false),
  not_like_escape: like('s', true),
  ilike_escape: like('is', false),
  not_ilike_escape: like('is', true),
  '~~~': { many: '*', single: '?', flags: 's', isNegated: false },
}

export function isLike(name: string): boolean {
  return Object.hasOwn(KINDS, name.toLowerCase())
}

/** With a pattern that is known, or a search. */
export function isConstantLike([text, pattern]: readonly TreeNode[]): boolean {
  const isSearch = isColumn(text) && columnNames(text).at(-1)?.toLowerCase() === 'content'
  return isSearch || constantText(pattern) !== undefined
}

/** The regular expression that stands for it, where DuckDB would try too much. */
export function hardLike(call: TreeNode): string | undefined {
  const kind = KINDS[textValue(call.function_name).toLowerCase()]
  const [, pattern, escapeNode] = nodesOf(call.children)
  const written = constantText(pattern)
  if (kind === undefined || written === undefined) return undefined
  const isHard = written.includes(kind.single) || kind.many === '*' || escapeNode !== undefined
  if (!isHard || written.split(kind.many).length < 3) return undefined
  return regexpOf(written, kind, constantText(escapeNode))
}

/** Changes the tree in place, once searches are out of it. */
export function likesAsRegexps(tree: TreeValue): void {
  for (const node of walk(tree)) {
    if (node.class !== 'FUNCTION') continue
    const regexp = hardLike(node)
    const [text] = nodesOf(node.children)
    if (regexp === undefined || text === undefined) continue
    const call = callNode('regexp_full_match', text, textNode(regexp))
    const isNegated = KINDS[textValue(node.function_name).toLowerCase()]?.isNegated === true
    const { alias = '' } = node
    const own = isNegated ? caseNode(call, truthNode(false), unlessNull(text)) : call
    replace(node, { ...own, alias })
  }
}

/** NULL for no text, as the operator itself. */
function unlessNull(text: TreeNode): TreeNode {
  return callNode('starts_with', { ...text, alias: '' }, textNode(''))
}

function regexpOf(pattern: string, kind: Kind, escapeSign = ''): string | undefined {
  if (kind.many === '*' && /[[\]\\]/.test(pattern)) return undefined
  let regexp = `(?${kind.flags})`
  const characters = [...pattern]
  for (let index = 0; index < characters.length; index += 1) {
    let character = characters[index] ?? ''
    if (escapeSign !== '' && character === escapeSign) {
      index += 1
      character = characters[index] ?? ''
      regexp += literal(character)
    } else if (character === kind.many) regexp += '.*'
    else if (character === kind.single) regexp += '.'
    else regexp += literal(character)
  }
  return regexp
}

function literal(character: string): string {
  return character.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}
