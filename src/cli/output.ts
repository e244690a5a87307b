/** Writes a command's output: results to stdout, everything else to stderr. */
import { CommandError } from './command-error.ts'
import { safeLine, truncated } from './terminal-text.ts'

/** The program that reads the output has ended (as with `| head`), which is not a failure. */
export class ReaderLeft extends Error {}

const COLUMNS_UNKNOWN = 80

export class Output {
  readonly isJson: boolean
  readonly isQuiet: boolean
  readonly isTerminal: boolean
  readonly #colours: { readonly out: boolean; readonly err: boolean }

  constructor(given: {
    /** Whether a program reads the output, so that only results are printed. */
    readonly isJson: boolean
    readonly isQuiet: boolean
    readonly environment: Readonly<Record<string, string | undefined>>
  }) {
    const { isJson, isQuiet, environment } = given
    this.isJson = isJson
    this.isQuiet = isQuiet
    this.isTerminal = process.stdout.isTTY === true
    const isAllowed = !environment.NO_COLOR && environment.TERM !== 'dumb'
    this.#colours = {
      out: isAllowed && this.isTerminal,
      err: isAllowed && process.stderr.isTTY === true,
    }
    // Each write's callback gets the error. Without a listener, it would end the process.
    process.stdout.on('error', () => {})
    process.stderr.on('error', () => {})
  }

  /** The width of the terminal; null if results do not go to one. */
  get columns(): number | null {
    return this.isTerminal ? process.stdout.columns || COLUMNS_UNKNOWN : null
  }

  /** Writes a result, and resolves when there is room for more. @throws ReaderLeft, CommandError */
  async write(data: string | Uint8Array): Promise<void> {
    if (data.length === 0) return
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    process.stdout.write(data, (error) => {
      if (error === null || error === undefined) resolve()
      else if (isBrokenPipe(error)) reject(new ReaderLeft())
      else reject(new CommandError('file_failed', `Results cannot be written: ${error.message}`))
    })
    return promise
  }

  async line(text = ''): Promise<void> {
    await this.write(`${text}\n`)
  }

  async json(value: unknown): Promise<void> {
    await this.write(`${JSON.stringify(value)}\n`)
  }

  /** Reports progress on stderr, except in quiet mode. */
  say(text: string): void {
    if (!this.isQuiet) process.stderr.write(`${text}\n`)
  }

  /** Reports what users must know even in quiet mode. */
  warn(text: string): void {
    process.stderr.write(`${text}\n`)
  }

  bold(text: string): string {
    return this.#styled('1', text)
  }

  dim(text: string): string {
    return this.#styled('2', text)
  }

  cyan(text: string): string {
    return this.#styled('36', text)
  }

  highlight(text: string): string {
    return this.#styled('1;33', text)
  }

  red(text: string): string {
    return this.#colours.err ? `\x1b[31m${text}\x1b[0m` : text
  }

  get hasColours(): boolean {
    return this.#colours.out
  }

  #styled(code: string, text: string): string {
    return this.#colours.out && text !== '' ? `\x1b[${code}m${text}\x1b[0m` : text
  }
}

function isBrokenPipe(error: Error): boolean {
  return 'code' in error && (error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED')
}

const LINE_MS = 10_000

/** Progress on stderr: on a terminal, one line that is updated; otherwise, a line every ten seconds. */
export class ProgressLine {
  readonly #output: Output
  readonly #isLive: boolean
  #hasLine = false
  #lastAt = performance.now()

  constructor(output: Output) {
    this.#output = output
    this.#isLive = process.stderr.isTTY === true && !output.isQuiet
  }

  show(text: string, isLast = false): void {
    if (this.#isLive) {
      const room = (process.stderr.columns || COLUMNS_UNKNOWN) - 1
      process.stderr.write(`\r\x1b[2K${truncated(safeLine(text), room)}`)
      this.#hasLine = true
      return
    }
    const now = performance.now()
    if (now - this.#lastAt < LINE_MS && !isLast) return
    this.#lastAt = now
    this.#output.say(safeLine(text))
  }

  end(): void {
    if (this.#hasLine) process.stderr.write('\n')
  }
}

/** Formats sizes: `512 B`, `1.4 KB`, `20 MB`. */
export function sizeText(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB']
  let [value, unit] = [bytes, 0]
  for (; value >= 1000 && unit < units.length - 1; unit += 1) value /= 1000
  return `${unit === 0 || value >= 10 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`
}
