import { AppError } from '../../core/errors.ts'
import {
  lineAndColumn,
  lineWithCaret,
  mayHoldSecrets,
  placeAsWritten,
} from '../../core/text/shown-statement.ts'
import { hasNativeNames } from '../lexer/database-names.ts'
import { isNode, isNumber, nodesOf, type TreeNode } from './select-ast.ts'

/** The offset is in characters of the text that DuckDB parsed. */
export class PlacedError extends Error {
  readonly failure: AppError
  readonly offset: number

  constructor(failure: AppError, offset: number) {
    super(failure.message, { cause: failure })
    this.failure = failure
    this.offset = offset
  }
}

/** The `query_location` of nodes that have no position in the text. */
const UNPLACED = 2 ** 62

/**
 * Runs work on a node. If it fails, the error gets the node's position, unless it already has one.
 */
export function placed<T>(node: TreeNode, work: () => T): T {
  const offset = offsetOf(node)
  try {
    return work()
  } catch (error) {
    if (!(error instanceof AppError) || offset >= UNPLACED) throw error
    throw new PlacedError(error, offset)
  }
}

/** For `a = b` DuckDB gives the position of the operator, so use that of the first operand. */
function offsetOf(node: TreeNode): number {
  const parts = [node, node.left, ...nodesOf(node.children)].filter(isNode)
  const offsets = parts.map(({ query_location: location }) => {
    return isNumber(location) ? Number(location.rawJSON) : UNPLACED
  })
  return Math.min(...offsets)
}

/** `line 2, column 5:`, the line, and a caret below. @param offset in code points */
export function excerptAt(statement: string, offset: number): string {
  const { text, at } = placeAsWritten(statement, offset)
  const line = caretAt(text, at)
  return line === undefined ? lineAndColumn(text, at) : `${lineAndColumn(text, at)}:\n${line}`
}

/** With a caret below; undefined if it must not be shown. @param at in UTF-16 code units */
export function caretAt(text: string, at: number): string | undefined {
  return mayHoldSecrets(text) || hasNativeNames(text) ? undefined : lineWithCaret(text, at)
}
