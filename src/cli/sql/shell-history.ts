/** The statements of former shells, in a private file. */
import { appendFileSync, chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

type Environment = Readonly<Record<string, string | undefined>>

const HISTORY_STATEMENTS_MAX = 1000
/** A longer one is not remembered. */
const HISTORY_CHARS_MAX = 10_000

/** Statements that may contain a secret. */
const SECRETS = /password|passwd|api_?key|secret|token|credential|bearer|_key\b/i

/** null: no place for it is known. */
export function historyFile({ XDG_STATE_HOME, HOME, LOCALAPPDATA }: Environment): string | null {
  const folder = XDG_STATE_HOME || (HOME ? join(HOME, '.local/state') : LOCALAPPDATA)
  return folder ? join(folder, 'eider', 'sql-history') : null
}

/** The newest first, as readline keeps them. */
export function readHistory(environment: Environment): readonly string[] {
  const file = historyFile(environment)
  if (file === null) return []
  let lines: string[]
  try {
    lines = readFileSync(file, 'utf8').split('\n').filter(Boolean)
  } catch {
    // There is none yet.
    return []
  }
  const kept = lines.slice(-HISTORY_STATEMENTS_MAX)
  try {
    if (lines.length > 2 * HISTORY_STATEMENTS_MAX) {
      writeFileSync(file, `${kept.join('\n')}\n`, { mode: 0o600 })
    }
  } catch {
    // It stays longer than it need be.
  }
  return kept.toReversed()
}

/** Stores a statement as one line. Skips those that may contain a secret, and does nothing if the file cannot be written. */
export function rememberStatement(text: string, environment: Environment): void {
  const file = historyFile(environment)
  const line = text.includes('--') ? text.trim() : text.replaceAll(/\s*\n\s*/g, ' ').trim()
  if (file === null || line === '' || line.includes('\n')) return
  if (SECRETS.test(line) || line.length > HISTORY_CHARS_MAX) return
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    appendFileSync(file, `${line}\n`, { mode: 0o600 })
    chmodSync(file, 0o600)
  } catch {
    // A shell without a memory is a shell.
  }
}
