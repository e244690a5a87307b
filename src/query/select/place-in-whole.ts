import { AppError } from '../../errors.ts'
import { caretAt, excerptAt } from '../../sql/ast/placed-error.ts'
import { placeOf } from '../../sql/lexer/tokens.ts'

/**
 * A failure in a SELECT within a statement names its line and column in that SELECT, which was run by itself: now those in
 * the whole statement. Any other failure stays as it is.
 * @param parts texts of the statement, one of which may be the SELECT
 */
export function inWhole(error: unknown, whole: string, parts: readonly string[]): unknown {
  if (!(error instanceof AppError)) return error
  const place = placeNamed(error)
  if (place === undefined || isPlaceIn(whole, place)) return error
  for (const part of parts) {
    const start = whole.lastIndexOf(part)
    if (start === -1 || !isPlaceIn(part, place)) continue
    return placedAt(error, place, { whole, at: start + offsetIn(part, place) })
  }
  return error
}

/** Every text in a statement that was read; of a job, each of its statements. */
export function textsIn(statement: unknown): readonly string[] {
  if (typeof statement === 'string') {
    return [statement, ...statement.split(';').map((one) => one.trim())]
  }
  if (typeof statement !== 'object' || statement === null) return []
  return Object.values(statement).flatMap(textsIn)
}

interface NamedPlace {
  readonly line: number
  /** In characters (code points), from 1. */
  readonly column: number
  /** The line of the text, or a part of it; empty: it is not shown. */
  readonly shown: string
  /** Of what is shown, how many characters stand before the place. */
  readonly leadChars: number
  /** What the message says behind the place, where that stands in it. */
  readonly said: string | undefined
}

const PLACE = /^line (\d+), column (\d+):(?: ([^\n]*))?(?:\n([^\n]*)\n( *)\^)?/

/** As `excerptAt` writes it; a syntax error of DuckDB has it at the head of its message. */
function placeNamed({ message, excerpt }: AppError): NamedPlace | undefined {
  const isInMessage = PLACE.test(message)
  const text = isInMessage ? message : (excerpt ?? '')
  const [found, line, column, said, shown = '', lead = ''] = PLACE.exec(text) ?? []
  if (found === undefined) return undefined
  return {
    line: Number(line),
    column: Number(column),
    shown,
    leadChars: lead.length,
    said: isInMessage ? (said ?? '') : undefined,
  }
}

/** Whether what is shown stands there in this text: a place alone says not in which text it is. */
function isPlaceIn(text: string, place: NamedPlace): boolean {
  const { line, column, shown, leadChars } = place
  const chars = [...(text.split('\n')[line - 1] ?? '')].slice(Math.max(0, column - 1 - leadChars))
  return chars
    .join('')
    .replaceAll(/[\t\r\0]/g, ' ')
    .startsWith(shown)
}

/** In code units. */
function offsetIn(text: string, { line, column }: NamedPlace): number {
  const lines = text.split('\n')
  const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0)
  return start + [...(lines[line - 1] ?? '')].slice(0, column - 1).join('').length
}

function placedAt(
  { code, title, message, cause }: AppError,
  { said }: NamedPlace,
  { whole, at }: { readonly whole: string; readonly at: number },
): AppError {
  if (said === undefined) {
    const excerpt = excerptAt(whole, [...whole.slice(0, at)].length)
    return new AppError(code, message, { title, excerpt, cause })
  }
  const excerpt = caretAt(whole, at)
  return new AppError(code, `${placeOf(whole, at)}: ${said}`, {
    title,
    cause,
    ...(excerpt === undefined ? {} : { excerpt }),
  })
}
