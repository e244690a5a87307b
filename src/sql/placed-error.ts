import { AppError } from '../errors.ts'
import { isNumber, type TreeNode } from './select-ast.ts'

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
const NOWHERE = 2 ** 62

/** Runs work on a node; its failure gets the node's place, where it has none yet. */
export function placed<T>(node: TreeNode, work: () => T): T {
  try {
    return work()
  } catch (error) {
    const { query_location: location } = node
    const offset = isNumber(location) ? Number(location.rawJSON) : NOWHERE
    if (!(error instanceof AppError) || offset >= NOWHERE) throw error
    throw new PlacedError(error, offset)
  }
}

const EXCERPT_CHARS = 120

/**
 * `line 2, column 5:`, the line of the text, and a caret under the place.
 * @param offset in characters (code points)
 */
export function excerptAt(text: string, offset: number): string {
  const characters = [...text]
  const before = characters.slice(0, offset)
  const lineStart = before.lastIndexOf('\n') + 1
  const line = before.filter((character) => character === '\n').length + 1
  const column = offset - lineStart + 1
  const end = characters.indexOf('\n', lineStart)
  const whole = characters.slice(lineStart, end === -1 ? undefined : end)
  const start = Math.max(0, column - 1 - EXCERPT_CHARS / 2)
  const shown = whole
    .slice(start, start + EXCERPT_CHARS)
    .join('')
    .replaceAll(/[\t\r\0]/g, ' ')
  return `line ${line}, column ${column}:\n${shown}\n${' '.repeat(column - 1 - start)}^`
}
