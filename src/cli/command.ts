/** A command of `eider`: its words and options, its help, and where its code is. */
import { usageError } from './command-error.ts'
import type { HttpClient } from './http-client.ts'
import type { Output } from './output.ts'

export interface OptionSpec {
  readonly help: string
  /** What its value is called; missing: it is a switch. */
  readonly value?: string
  /** One letter. */
  readonly short?: string
  /** May be given several times. */
  readonly isRepeated?: true
}

export interface CommandSpec {
  readonly summary: string
  /** What follows `eider`, a line for each form. */
  readonly usage: readonly string[]
  /** The number of words besides options. */
  readonly words: readonly [min: number, max: number]
  readonly options?: Readonly<Record<string, OptionSpec>>
  /** More than the options can say. */
  readonly notes?: string
  readonly examples: readonly (readonly [command: string, says: string])[]
  /** Loaded only when the command runs. */
  readonly load: () => Promise<{ readonly run: RunCommand }>
}

/** @returns an exit code, unless it is 0 */
export type RunCommand = (context: CommandContext) => Promise<number | undefined>

export interface CommandContext {
  readonly words: readonly string[]
  readonly options: Options
  readonly client: HttpClient
  readonly output: Output
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** The values of a command line's options. */
export class Options {
  readonly #values: ReadonlyMap<string, readonly string[]>

  constructor(values: ReadonlyMap<string, readonly string[]>) {
    this.#values = values
  }

  text(name: string): string | undefined {
    return this.#values.get(name)?.at(-1)
  }

  /** @throws CommandError `usage` */
  required(name: string): string {
    const value = this.text(name)
    if (value === undefined) throw usageError(`--${name} is missing`)
    return value
  }

  list(name: string): readonly string[] {
    return this.#values.get(name) ?? []
  }

  /** `--name`, `--no-name`; undefined: neither is given. */
  flag(name: string): boolean | undefined {
    const value = this.text(name)
    return value === undefined ? undefined : value === 'true'
  }

  /** Those options that were given, as a query string. */
  asQuery(names: readonly string[], more: Readonly<Record<string, string>> = {}): URLSearchParams {
    const given = names.flatMap((name) => {
      const value = this.text(name)
      return value === undefined ? [] : [[name, value]]
    })
    return new URLSearchParams({ ...Object.fromEntries(given), ...more })
  }

  /** @throws CommandError `usage` for anything but a whole number in this range */
  count(name: string, min = 1, max = Number.MAX_SAFE_INTEGER): number | undefined {
    const value = this.text(name)
    if (value === undefined) return undefined
    const count = Number(value)
    if (/^\d+$/.test(value) && count >= min && count <= max) return count
    const range = max === Number.MAX_SAFE_INTEGER ? `from ${min} on` : `from ${min} to ${max}`
    throw usageError(`--${name}: expected a whole number ${range}, found "${value}"`)
  }

  /** @throws CommandError `usage` for anything but a number from 0 to 1 */
  share(name: string): number | undefined {
    const value = this.text(name)
    if (value === undefined) return undefined
    const share = value.trim() === '' ? Number.NaN : Number(value)
    if (share >= 0 && share <= 1) return share
    throw usageError(`--${name}: expected a number from 0 to 1, found "${value}"`)
  }
}

/** A knowledge base or an agent as people name it: `name`, or `project.name`. */
export interface NamedObject {
  readonly project: string
  readonly name: string
}

export const DEFAULT_PROJECT_NAME = 'mindsdb'

/** @throws CommandError `usage` where `--project` says otherwise */
export function namedObject(word: string, options: Options): NamedObject {
  const given = options.text('project')
  const [, prefix, name = word] = /^([^.]+)\.(.+)$/s.exec(word) ?? []
  if (prefix !== undefined && given !== undefined && prefix !== given) {
    throw usageError(`"${word}" names the project ${prefix}, --project names ${given}: give one`)
  }
  return { project: prefix ?? given ?? DEFAULT_PROJECT_NAME, name }
}

/** `/api/projects/{project}/{kind}/{name}`. */
export function pathOf(kind: 'knowledge_bases' | 'agents', { project, name }: NamedObject): string {
  return `/api/projects/${encodeURIComponent(project)}/${kind}/${encodeURIComponent(name)}`
}
