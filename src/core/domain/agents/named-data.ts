/** Names of what an agent may read, as models write them. */
import { nameKey } from '../identifier.ts'
import { FILES_DATABASE } from '../project.ts'
import { namesWithoutEnding } from '../uploaded-file.ts'

/**
 * The name that is meant, of those that there are: whole, without the project that is at home, without `files`, or without
 * its qualifier where only one has such a name. Quotes, white space around dots and case do not matter.
 * @param home the project of names without a qualifier
 */
export function nameMeant(
  written: string,
  home: string,
  names: readonly string[],
): string | undefined {
  const exact = names.find((name) => nameKey(name) === nameKey(written))
  if (exact !== undefined) return exact
  const key = looseKey(written)
  const whole = names.find((name) => looseKey(name) === key)
  if (whole !== undefined) return whole
  const atHome = names.find((name) => looseKey(name) === looseKey(`${home}.${key}`))
  if (atHome !== undefined) return atHome
  const others = names.filter((name) => shortKeys(name).includes(key))
  return others.length === 1 ? others[0] : undefined
}

function looseKey(name: string): string {
  return nameKey(name)
    .slice(0, DATA_NAME_CHARS_MAX)
    .replaceAll(/["`[\]']/g, '')
    .split('.')
    .map((part) => part.trim())
    .join('.')
}

/** A name has up to three parts of 128 characters, or it is none. */
const DATA_NAME_CHARS_MAX = 1_000

/** A name without what stands before it, a file's also without its ending. */
function shortKeys(name: string): readonly string[] {
  const [first = '', ...rest] = name.split('.')
  const short = rest.join('.')
  if (nameKey(first) !== FILES_DATABASE) return [looseKey(short), looseKey(rest.at(-1) ?? '')]
  const endless = namesWithoutEnding(short)
  return [short, ...endless, ...endless.map((one) => `${first}.${one}`)].map(looseKey)
}

/** What a model is told of a name that it may not read or that there is not: the names there are, the likeliest first. */
export function notAvailable(written: string, names: readonly string[]): string {
  const shown = namesLike(written, names).slice(0, NAMES_SHOWN_MAX)
  const rest = names.length - shown.length
  const more = rest === 0 ? '' : ` and ${rest} more`
  return `${written.slice(0, 200).toWellFormed()} is not available here. Available: ${shown.join(', ') || 'none'}${more}`
}

const NAMES_SHOWN_MAX = 50

/** Most like the written one first; those that are equally like it stay as they are. */
export function namesLike(written: string, names: readonly string[]): readonly string[] {
  const wanted = pairsOf(looseKey(written).slice(0, PAIRS_MAX))
  const ranked = names.map((name, index) => {
    return { name, index, likeness: likeness(wanted, pairsOf(looseKey(name).slice(0, PAIRS_MAX))) }
  })
  ranked.sort((one, other) => other.likeness - one.likeness || one.index - other.index)
  return ranked.map(({ name }) => name)
}

const PAIRS_MAX = 200

/** Each two letters that stand side by side (Dice 1945, Adamson and Boreham 1974). */
function pairsOf(text: string): ReadonlySet<string> {
  const parts = text.split('.')
  const last = parts.at(-1) ?? ''
  const own = [...parts, `^${last}$`]
  return new Set(own.flatMap((part) => Array.from(part, (_, at) => part.slice(at, at + 2))))
}

function likeness(first: ReadonlySet<string>, second: ReadonlySet<string>): number {
  const total = first.size + second.size
  return total === 0 ? 0 : (2 * first.intersection(second).size) / total
}
