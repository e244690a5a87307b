/** A shell for SQL with multi-line statements. */

import { createInterface, type Interface } from 'node:readline'
import type { CommandContext } from '../command.ts'
import { EXIT } from '../command-error.ts'
import { ReaderLeft } from '../output.ts'
import type { TableStyle } from '../result-table.ts'
import { runSql, showAnswer, splitStatements } from './statement-client.ts'

/** @returns the exit code when the user leaves */
export async function runShell(context: CommandContext, given: ShellSettings): Promise<number> {
  const { client, output } = context
  // Sent before the first prompt, so that a missing server or login is reported right away.
  const { eider_version: version } = await client.send<{ readonly eider_version?: string }>(
    'GET',
    '/api/status',
    { signal: context.signal },
  )
  output.say(`Eider ${version ?? '?'} at ${client.address}. Statements end with ;. "exit" leaves`)
  const reader = createInterface({
    input: process.stdin,
    output: process.stdout,
    terminal: true,
    historySize: 1000,
    removeHistoryDuplicates: true,
  })
  try {
    return await new Shell({ ...context, ...given, reader }).run()
  } finally {
    reader.close()
  }
}

interface ShellSettings {
  readonly project: string
  readonly params: Readonly<Record<string, unknown>>
  readonly expanded: TableStyle['expanded']
}

interface ShellParts extends CommandContext, ShellSettings {
  readonly reader: Interface
}

class Shell {
  readonly #parts: ShellParts
  /** The lines of a statement that is not complete yet. */
  #pending = ''
  #running: AbortController | null = null
  /** USE changes it. */
  #project: string

  constructor(parts: ShellParts) {
    this.#parts = parts
    this.#project = parts.project
  }

  run(): Promise<number> {
    const { reader } = this.#parts
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    let work = Promise.resolve()
    reader.on('line', (line) => {
      // Pasted lines are handled one after the other.
      work = work.then(async () => {
        if (await this.#line(line)) resolve(EXIT.done)
        else this.#prompt()
      })
      work.catch(reject)
    })
    reader.on('SIGINT', () => this.#interrupt())
    reader.on('close', () => {
      // Reached after Ctrl-D and at the end of piped input.
      work = work.then(() => resolve(EXIT.done))
    })
    this.#prompt()
    return promise
  }

  #prompt(): void {
    const { reader } = this.#parts
    const name = this.#project
    reader.setPrompt(
      this.#pending === '' ? `${name}> ` : `${' '.repeat(Math.max(0, name.length - 1))}-> `,
    )
    reader.prompt()
  }

  #interrupt(): void {
    if (this.#running !== null) {
      this.#running.abort()
      return
    }
    // Discards the current line and the lines before it.
    this.#pending = ''
    process.stdout.write('^C\n')
    this.#parts.reader.write(null, { ctrl: true, name: 'e' })
    this.#parts.reader.write(null, { ctrl: true, name: 'u' })
    this.#prompt()
  }

  /** @returns whether the user leaves the shell */
  async #line(line: string): Promise<boolean> {
    if (this.#pending === '' && /^\s*(?:exit|quit|\\q)\s*;?\s*$/i.test(line)) return true
    if (this.#pending === '' && /^\s*\\/.test(line)) {
      this.#parts.output.warn('There are no such commands. Use SHOW TABLES; DESCRIBE <name>; exit')
      return false
    }
    const text = this.#pending === '' ? line : `${this.#pending}\n${line}`
    const { statements, rest } = splitStatements(text)
    this.#pending = rest
    for (const statement of statements) {
      const isDone = await this.#guarded((signal) => this.#statement(statement, signal))
      if (!isDone) break
    }
    return false
  }

  async #statement(sql: string, signal: AbortSignal): Promise<void> {
    const { client, output, params, expanded } = this.#parts
    const startedAt = performance.now()
    const answer = await runSql({ sql, project: this.#project, params }, client, signal)
    if (answer.kind === 'ok') this.#project = answer.project
    await showAnswer(answer, { expanded, isTimed: true, startedAt }, output)
  }

  /** @returns false, after a message, if the work failed or was interrupted */
  async #guarded(work: (signal: AbortSignal) => Promise<void>): Promise<boolean> {
    const { output } = this.#parts
    const running = new AbortController()
    this.#running = running
    try {
      await work(running.signal)
      return true
    } catch (error) {
      if (running.signal.aborted) output.warn('Interrupted')
      else if (error instanceof ReaderLeft || !(error instanceof Error)) throw error
      else output.warn(`${output.red('Error:')} ${error.message}`)
      return false
    } finally {
      this.#running = null
    }
  }
}
