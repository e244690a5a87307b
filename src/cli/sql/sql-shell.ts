/** A shell for SQL: statements of several lines, history, completion, and commands that begin with a backslash. */
import { createInterface, type Interface } from 'node:readline'
import type { CommandContext } from '../command.ts'
import { CommandError, EXIT } from '../command-error.ts'
import { ReaderLeft } from '../output.ts'
import { runShellCommand, type ShellState } from './shell-commands.ts'
import { readHistory, rememberStatement } from './shell-history.ts'
import { completionsOf, ShellNames } from './shell-names.ts'
import { showAnswer } from './shown-answer.ts'
import { runSql } from './statement-client.ts'
import { splitStatements } from './statement-splitter.ts'

export interface ShellOptions {
  readonly project: string
  readonly params: Readonly<Record<string, unknown>>
}

/** @returns when somebody leaves it: the exit code */
export async function runShell(
  context: CommandContext,
  { project, params }: ShellOptions,
): Promise<number> {
  const { client, output, environment } = context
  // Before the first prompt: a server that is not there, or a login that is missing.
  const { eider_version: version } = await client.send<{ readonly eider_version?: string }>(
    'GET',
    '/api/status',
    { signal: context.signal },
  )
  output.say(`Eider ${version ?? '?'} at ${client.address}. \\? for help, \\q to leave`)
  const names = new ShellNames(client)
  const state: ShellState = { project, expanded: 'auto', isTimed: true }
  const reader = createInterface({
    input: process.stdin,
    output: process.stdout,
    terminal: true,
    history: [...readHistory(environment)],
    historySize: 1000,
    removeHistoryDuplicates: true,
    completer: (line: string, done: (error: null, found: [string[], string]) => void) => {
      completionsOf(line, names, state.project).then(
        (found) => done(null, found),
        // A server that does not answer completes nothing.
        () => done(null, [[], line]),
      )
    },
  })
  try {
    return await new Shell({ ...context, reader, names, state, params }).run()
  } finally {
    reader.close()
  }
}

interface ShellParts extends CommandContext {
  readonly reader: Interface
  readonly names: ShellNames
  readonly state: ShellState
  readonly params: Readonly<Record<string, unknown>>
}

/** What may have made, changed or dropped something that has a name. */
const CHANGES_NAMES = /^\s*(?:create|alter|drop|use)\b/i

class Shell {
  readonly #parts: ShellParts
  /** Lines that have no semicolon yet. */
  #pending = ''
  #running: AbortController | null = null

  constructor(parts: ShellParts) {
    this.#parts = parts
  }

  run(): Promise<number> {
    const { reader } = this.#parts
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    let work = Promise.resolve()
    reader.on('line', (line) => {
      // Lines that are pasted together wait for each other.
      work = work.then(async () => {
        if (await this.#line(line)) resolve(EXIT.done)
        else this.#prompt()
      })
      work.catch(reject)
    })
    reader.on('SIGINT', () => this.#interrupt())
    reader.on('close', () => {
      // After Ctrl-D; what is read from a pipe ends so too.
      work = work.then(() => resolve(EXIT.done))
    })
    this.#prompt()
    return promise
  }

  #prompt(): void {
    const { reader, state } = this.#parts
    const name = state.project
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
    // The line and those before it are thrown away.
    this.#pending = ''
    process.stdout.write('^C\n')
    this.#parts.reader.write(null, { ctrl: true, name: 'e' })
    this.#parts.reader.write(null, { ctrl: true, name: 'u' })
    this.#prompt()
  }

  /** @returns true: it is over */
  async #line(line: string): Promise<boolean> {
    if (this.#pending === '' && /^\s*\\/.test(line)) return this.#command(line.trim())
    if (this.#pending === '' && /^\s*(?:exit|quit)\s*;?\s*$/i.test(line)) return true
    const text = this.#pending === '' ? line : `${this.#pending}\n${line}`
    const { statements, rest } = splitStatements(text)
    this.#pending = rest
    if (statements.length > 0) rememberStatement(text, this.#parts.environment)
    for (const statement of statements) {
      const isDone = await this.#guarded((signal) => this.#statement(statement, signal))
      if (!isDone) break
    }
    return false
  }

  async #command(line: string): Promise<boolean> {
    let isOver = false
    await this.#guarded(async (signal) => {
      const { client, output, names, state } = this.#parts
      const run = (sql: string) => this.#statement(sql, signal)
      isOver = await runShellCommand(line, { state, client, output, names, run, signal })
    })
    return isOver
  }

  async #statement(sql: string, signal: AbortSignal): Promise<void> {
    const { client, output, state, params, names } = this.#parts
    const startedAt = performance.now()
    const answer = await runSql({ sql, project: state.project, params }, client, signal)
    if (answer.kind === 'ok') state.project = answer.project
    const { expanded, isTimed } = state
    await showAnswer(answer, { expanded, isTimed, startedAt }, output)
    if (CHANGES_NAMES.test(sql)) names.forget()
  }

  /** @returns false: it failed or was interrupted, and that was said */
  async #guarded(work: (signal: AbortSignal) => Promise<void>): Promise<boolean> {
    const { output } = this.#parts
    const running = new AbortController()
    this.#running = running
    try {
      await work(running.signal)
      return true
    } catch (error) {
      if (running.signal.aborted) output.warn('Interrupted')
      else if (error instanceof CommandError)
        output.warn(`${output.red('Error:')} ${error.message}`)
      else if (error instanceof ReaderLeft || !(error instanceof Error)) throw error
      else output.warn(`${output.red('Error:')} ${error.message}`)
      return false
    } finally {
      this.#running = null
    }
  }
}
