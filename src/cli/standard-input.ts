import { usageError } from './command-error.ts'

/** @param what is expected there: for who sits before a terminal that waits. @throws CommandError `usage` */
export async function readStandardInput(what: string): Promise<string> {
  if (process.stdin.isTTY === true) throw usageError(`${what} is missing`)
  const text = await Bun.stdin.text()
  if (text.trim() === '') throw usageError(`${what} is missing: standard input is empty`)
  return text
}
