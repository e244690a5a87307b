/**
 * LIKE and GLOB with several wildcards: DuckDB 1.5.5 tries every place for each of them, so that six in a row take a minute
 * for a text of a hundred characters. A regular expression finds the same in one pass.
 */
import {
  callNode,
  caseNode,
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

const GLOB = '~~~'
/** `~~` is LIKE, `~~*` ILIKE. */
const LIKE = /^(?:!?~~\*?|(?:not_)?i?like_escape|~~~)$/i

export function isLike(name: string): boolean {
  return LIKE.test(name)
}

/** With a known pattern, or a search. */
export function isConstantLike([text, pattern]: readonly TreeNode[]): boolean {
  const isSearch = isColumn(text) && columnNames(text).at(-1)?.toLowerCase() === 'content'
  return isSearch || constantText(pattern) !== undefined
}

/** The equivalent regular expression, where DuckDB's own LIKE would try too many combinations. */
export function hardLike(call: TreeNode): string | undefined {
  const name = textValue(call.function_name)
  const [, pattern, escapeNode] = nodesOf(call.children)
  const written = constantText(pattern)
  if (!isLike(name) || written === undefined) return undefined
  const isGlob = name === GLOB
  const isHard = isGlob || written.includes('_') || escapeNode !== undefined
  if (!isHard || written.split(isGlob ? '*' : '%').length < 3) return undefined
  if (isGlob && /[[\]\\]/.test(written)) return undefined
  const flags = /^!?~~\*$|ilike/i.test(name) ? 'is' : 's'
  return `(?${flags})${regexpOf(written, isGlob ? '*?' : '%_', constantText(escapeNode))}`
}

/** Changes the tree in place, after searches have been taken out. */
export function likesAsRegexps(tree: TreeValue): void {
  for (const node of walk(tree)) {
    if (node.class !== 'FUNCTION') continue
    const regexp = hardLike(node)
    const [text] = nodesOf(node.children)
    if (regexp === undefined || text === undefined) continue
    const call = callNode('regexp_full_match', text, textNode(regexp))
    const isNegated = /^(?:!|not_)/i.test(textValue(node.function_name))
    const { alias = '' } = node
    const own = isNegated ? caseNode(call, truthNode(false), unlessNull(text)) : call
    replace(node, { ...own, alias })
  }
}

/** NULL for no text, as the operator itself. */
function unlessNull(text: TreeNode): TreeNode {
  return callNode('starts_with', { ...text, alias: '' }, textNode(''))
}

/** @param signs the wildcards for any text and for any character */
function regexpOf(pattern: string, [many, single]: string, escapeSign = ''): string {
  let regexp = ''
  let isEscaped = false
  for (const character of pattern) {
    if (!isEscaped && escapeSign !== '' && character === escapeSign) {
      isEscaped = true
      continue
    }
    if (isEscaped || (character !== many && character !== single)) regexp += literal(character)
    else regexp += character === many ? '.*' : '.'
    isEscaped = false
  }
  return regexp
}

function literal(character: string): string {
  return character.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}
