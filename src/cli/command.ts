/** A command of `eider`: its words and options, its help, and the module that runs it. */
import { usageError } from './command-error.ts'
import type { HttpClient } from './http-client.ts'
import type { Output } from './output.ts'

export interface OptionSpec {
  readonly help: string
  /** The name of the option's value; missing for a switch. */
  readonly value?: string
  readonly short?: string
  /** Set if the option can be given more than once. */
  readonly isRepeated?: true
}

export interface CommandSpec {
  readonly summary: string
  /** The text after `eider`, one line for each form. */
  readonly usage: readonly string[]
  /** How many words are allowed besides options. */
  readonly words: readonly [min: number, max: number]
  readonly options?: Readonly<Record<string, OptionSpec>>
  /** Help text in addition to the descriptions of the options. */
  readonly notes?: string
  readonly examples: readonly (readonly [command: string, says: string])[]
  readonly load: () => Promise<{ readonly run: RunCommand }>
}

/** @returns an exit code other than 0, if any */
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

/** What a request to the server needs, and a message about it. */
export type Requesting = Pick<CommandContext, 'client' | 'output' | 'signal'>

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

  /** The switch among these that is on. @throws CommandError `usage` for two of them */
  only<Name extends string>(names: readonly Name[], what: string): Name | undefined {
    const [first, second] = names.filter((name) => this.flag(name) === true)
    if (second === undefined) return first
    throw usageError(`--${first} and --${second} are two ${what}: give only one`)
  }

  /** True for `--name`, false for `--no-name`, undefined if neither was given. */
  flag(name: string): boolean | undefined {
    const value = this.text(name)
    return value === undefined ? undefined : value === 'true'
  }

  asQuery(names: readonly string[]): URLSearchParams {
    const given = names.flatMap((name) => {
      const value = this.text(name)
      return value === undefined ? [] : [[name, value]]
    })
    return new URLSearchParams(given)
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

/** A knowledge base or agent as written on the command line: `name` or `project.name`. */
export interface NamedObject {
  readonly project: string
  readonly name: string
}

export const DEFAULT_PROJECT_NAME = 'mindsdb'

/** @throws CommandError `usage` if `--project` names another project */
export function namedObject(word: string, options: Options): NamedObject {
  const given = options.text('project')
  const [, prefix, name = word] = /^([^.]+)\.(.+)$/s.exec(word) ?? []
  if (prefix !== undefined && given !== undefined && prefix !== given) {
    throw usageError(
      `"${word}" is in the project ${prefix}, but --project is ${given}: give only one`,
    )
  }
  return { project: prefix ?? given ?? DEFAULT_PROJECT_NAME, name }
}

/** Returns `/api/projects/{project}/{kind}/{name}`. */
export function pathOf(kind: 'knowledge_bases' | 'agents', { project, name }: NamedObject): string {
  return `/api/projects/${encodeURIComponent(project)}/${kind}/${encodeURIComponent(name)}`
}
