import { mayHoldSecrets } from '../../core/domain/flow/source-parameters.ts'
import { AppError } from '../../core/errors.ts'
import { hasNativeNames } from '../lexer/database-names.ts'
import { lineAndColumn } from '../lexer/tokens.ts'
import { isNode, isNumber, nodesOf, type TreeNode } from './select-ast.ts'

/** A failure that belongs to a place in the statement: an offset in characters into the text that DuckDB read. */
export class PlacedError extends Error {
  readonly failure: AppError
  readonly offset: number

  constructor(failure: AppError, offset: number) {
    super(failure.message, { cause: failure })
    this.failure = failure
    this.offset = offset
  }
}

/** `query_location` of what was not written but made. */
const UNPLACED = 2 ** 62

/** Runs work on a node; its failure gets the node's position, unless it has one. */
export function placed<T>(node: TreeNode, work: () => T): T {
  const offset = offsetOf(node)
  try {
    return work()
  } catch (error) {
    if (!(error instanceof AppError) || offset >= UNPLACED) throw error
    throw new PlacedError(error, offset)
  }
}

/** For `a = b` DuckDB gives the position of the operator: the first operand precedes it. */
function offsetOf(node: TreeNode): number {
  const parts = [node, node.left, ...nodesOf(node.children)].filter(isNode)
  const offsets = parts.map(({ query_location: location }) => {
    return isNumber(location) ? Number(location.rawJSON) : UNPLACED
  })
  return Math.min(...offsets)
}

const EXCERPT_CHARS = 120

/**
 * `line 2, column 5:`, the line of the text, and a caret under the place.
 * @param offset in characters (code points)
 */
export function excerptAt(text: string, offset: number): string {
  const at = [...text].slice(0, offset).join('').length
  const line = caretAt(text, at)
  return line === undefined ? lineAndColumn(text, at) : `${lineAndColumn(text, at)}:\n${line}`
}

/** The line around a place and a caret under it; undefined: it must not be shown. @param at in code units */
export function caretAt(text: string, at: number): string | undefined {
  if (mayHoldSecrets(text) || hasNativeNames(text)) return undefined
  const lineStart = text.lastIndexOf('\n', at - 1) + 1
  const [line = ''] = text.slice(lineStart).split('\n')
  const column = [...text.slice(lineStart, at)].length
  const start = Math.max(0, column - EXCERPT_CHARS / 2)
  const shown = [...line].slice(start, start + EXCERPT_CHARS).join('')
  return `${shown.replaceAll(/[\t\r\0]/g, ' ')}\n${' '.repeat(column - start)}^`
}
