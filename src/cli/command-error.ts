/** The expected failures of commands, and their exit codes. */

/** The exit codes are listed in docs/cli.md. */
export const EXIT = { done: 0, failed: 1, usage: 2, interrupted: 130 } as const

/** An expected failure, whose message says what to do next. */
export class CommandError extends Error {
  readonly code: string
  readonly exitCode: number
  /** The HTTP status, or null without an answer. */
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

/** @param what names the expected input for a waiting terminal @throws CommandError `usage` */
export async function readStandardInput(what: string): Promise<string> {
  if (process.stdin.isTTY === true) throw usageError(`${what} is missing`)
  const text = await Bun.stdin.text()
  if (text.trim() === '') throw usageError(`${what} is missing: standard input is empty`)
  return text
}
