import { parse as parseYaml } from 'yaml'
import type { Row } from '../../core/domain/document.ts'

const YAML_BLOCK = /^---[ \t]*\n([\s\S]{0,50000}?)\n(?:---|\.\.\.)[ \t]*(?:\n|$)/
const TOML_BLOCK = /^\+\+\+[ \t]*\n([\s\S]{0,50000}?)\n\+\+\+[ \t]*(?:\n|$)/

const COLUMNS_MAX = 50
const VALUE_CHARS_MAX = 1000
/** Every document has these columns itself. */
const OWN_COLUMNS = new Set(['id', 'content', 'title', 'format', 'layout'])

export interface FrontMatter {
  readonly body: string
  readonly title: string | null
  readonly columns: Row
}

/** What stands about a text above it (YAML or TOML), and the text. A block that says nothing is text. */
export function takeFrontMatter(source: string): FrontMatter {
  const yaml = YAML_BLOCK.exec(source)
  const toml = yaml === null ? TOML_BLOCK.exec(source) : null
  const found = yaml ?? toml
  const facts = found === null ? null : factsOf(found[1] ?? '', yaml !== null)
  if (found === null || facts === null) return { body: source, title: null, columns: {} }
  const columns: Record<string, string | number | boolean | string[]> = {}
  for (const [key, fact] of Object.entries(facts)) {
    const name = key.toLowerCase().replace(/[^a-z0-9_]+/g, '_')
    const value = plainValue(fact)
    const isOwn = OWN_COLUMNS.has(name) || !/^[a-z_]\w{0,60}$/.test(name)
    if (isOwn || value === null || Object.keys(columns).length >= COLUMNS_MAX) continue
    columns[name] = value
  }
  const title = plainValue(Reflect.get(facts, 'title'))
  return {
    body: source.slice(found[0].length).replace(/^\n+/, ''),
    title: typeof title === 'string' && title.trim() !== '' ? title.trim() : null,
    columns,
  }
}

/** null: no names with values. Aliases are not followed: they can swell. */
function factsOf(block: string, isYaml: boolean): object | null {
  try {
    const facts: unknown = isYaml
      ? parseYaml(block, { maxAliasCount: 0, logLevel: 'silent' })
      : Bun.TOML.parse(block)
    const isObject = typeof facts === 'object' && facts !== null && !Array.isArray(facts)
    return isObject ? facts : null
  } catch {
    return null
  }
}

function plainValue(value: unknown): string | number | boolean | string[] | null {
  if (typeof value === 'string') return value.slice(0, VALUE_CHARS_MAX)
  if (typeof value === 'boolean') return value
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (value instanceof Date) return value.toISOString()
  if (!Array.isArray(value)) return null
  const words = value.filter((one) => typeof one === 'string' || typeof one === 'number')
  return words.slice(0, 100).map((one) => String(one).slice(0, VALUE_CHARS_MAX))
}
