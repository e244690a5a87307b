/** Expected failures of a command, and its exit codes. */

/** Exit codes: docs/cli.md lists them. */
export const EXIT = { done: 0, failed: 1, usage: 2, interrupted: 130 } as const

/** An expected failure: its message says what to do next. */
export class CommandError extends Error {
  /** From the server's closed list, or one of the client's own. */
  readonly code: string
  readonly exitCode: number
  /** The HTTP status; null: none. */
  readonly status: number | null

  constructor(
    code: string,
    message: string,
    given: {
      readonly exitCode?: number
      readonly status?: number | null
      readonly cause?: unknown
    } = {},
  ) {
    const { exitCode = EXIT.failed, status = null, cause } = given
    super(message, { cause })
    this.name = 'CommandError'
    this.code = code
    this.exitCode = exitCode
    this.status = status
  }
}

export function usageError(message: string): CommandError {
  return new CommandError('usage', message, { exitCode: EXIT.usage })
}

/** @param what is expected there: for who sits before a terminal that waits. @throws CommandError `usage` */
export async function readStandardInput(what: string): Promise<string> {
  if (process.stdin.isTTY === true) throw usageError(`${what} is missing`)
  const text = await Bun.stdin.text()
  if (text.trim() === '') throw usageError(`${what} is missing: standard input is empty`)
  return text
}
