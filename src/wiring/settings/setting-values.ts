/** Parsers for the values of settings. Each throws a `BadValue` that says what is expected. */

import { readFileSync } from 'node:fs'
import { Cron } from 'croner'
import { isObject, parsedJson } from '../../core/json.ts'
import type { ModelPrice } from '../../ops/telemetry/run-recorder.ts'

export class BadValue extends Error {}

export function integer(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= min && value <= max) return value
    throw new BadValue(`expected a whole number from ${min} to ${max}`)
  }
}

export function oneOf<T extends string>(...values: readonly T[]): (text: string) => T {
  return (text) => {
    const found = values.find((value) => value === text)
    if (found !== undefined) return found
    throw new BadValue(`expected one of ${values.join(', ')}`)
  }
}

export function truth(text: string): boolean {
  if (text === '1' || text === 'true') return true
  if (text === '0' || text === 'false' || text === '') return false
  throw new BadValue('expected 1 or 0')
}

export function optionalPort(text: string): number | undefined {
  return text === '' ? undefined : integer(0, 65_535)(text)
}

export function list(text: string): readonly string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}

export function optionalSchedule(text: string): string | undefined {
  if (text === '') return undefined
  try {
    if (new Cron(text, { paused: true }).nextRun() !== null) return text
  } catch {
    // The message below says what is wrong.
  }
  throw new BadValue('expected a cron expression that comes again, such as 0 3 * * *')
}

export function optionalUrl(text: string): string | undefined {
  if (text === '') return undefined
  if (URL.canParse(text) && /^https?:/.test(text)) return text
  throw new BadValue('expected an http or https address')
}

export const MB = 1024 ** 2
export const GB = 1024 ** 3
export const TB = 1024 ** 4

const ZERO = '0'

export function memorySize(text: string): string {
  if (text === ZERO) return '0MB'
  if (/^\d+(\.\d+)?(MB|GB|MiB|GiB|%)$/.test(text)) return text
  throw new BadValue('expected a size as 512MB, 4GB or 60%')
}

export function byteSize(text: string): string {
  if (text === ZERO) return '0MB'
  if (/^\d+(\.\d+)?(MB|GB|MiB|GiB)$/.test(text)) return text
  throw new BadValue('expected a size as 256MB or 2GB')
}

export function nonEmptyText(text: string): string {
  if (text !== '') return text
  throw new BadValue('must not be empty')
}

export function headerList(text: string): Readonly<Record<string, string>> {
  const pairs = list(text).map((pair) => {
    const at = pair.indexOf('=')
    const [name, value] = [pair.slice(0, at).trim(), decodedHeader(pair.slice(at + 1).trim())]
    if (at > 0 && /^[\w!#$%&'*+.^`|~-]+$/.test(name) && value !== undefined) return [name, value]
    throw new BadValue('expected name=value,name=value')
  })
  return Object.fromEntries(pairs)
}

function decodedHeader(text: string): string | undefined {
  try {
    const value = decodeURIComponent(text)
    return /^[\x20-\x7e]*$/.test(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Parses a JSON object keyed by model patterns, or reads it from a file. */
export function modelPrices(text: string): readonly ModelPrice[] {
  if (text === '') return []
  const table = parsedTable(text.trimStart().startsWith('{') ? text : fileText(text))
  return Object.entries(table).map(([pattern, price]) => {
    const { input, output, cached = input, ...others } = isObject(price) ? price : {}
    const isPrice = (value: unknown) => typeof value === 'number' && value >= 0
    if (isPrice(input) && isPrice(output) && isPrice(cached) && Object.keys(others).length === 0) {
      return { pattern, input: Number(input), output: Number(output), cached: Number(cached) }
    }
    const what = 'expected for each model "input", "output" and, if it differs, "cached" as numbers'
    throw new BadValue(`${what}: ${JSON.stringify(pattern).slice(0, 100)} is something else`)
  })
}

function parsedTable(text: string): Readonly<Record<string, unknown>> {
  const table = parsedJson(text)
  if (isObject(table)) return table
  throw new BadValue('expected JSON such as {"gpt-*": {"input": 2, "output": 8}}, or a file of it')
}

function fileText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    throw new BadValue('expected JSON, or the path of a file that can be read')
  }
}

export interface Setting<T> {
  readonly name: string
  /** The default as written in the environment; empty if the setting has none. */
  readonly default: string
  readonly help: string
  /** Whether the value is never shown. */
  readonly isSecret: boolean
  parse(text: string): T
}

interface SettingInit {
  readonly help: string
  readonly isSecret?: boolean
}

/** @param usual the default; if empty, the setting is unset by default */
export function setting<T>(
  name: string,
  usual: string | number,
  parse: (text: string) => T,
  init: SettingInit,
): Setting<T> {
  return { name, default: String(usual), parse, isSecret: false, ...init }
}

/** A string setting without a default. */
export function textSetting(name: string, init: SettingInit): Setting<string | undefined> {
  return setting(name, '', (text) => (text === '' ? undefined : text), init)
}

export function providerKey(name: string, provider: string): Setting<string | undefined> {
  const help = `API key of the provider ${provider}, unless a model has its own api_key`
  return textSetting(name, { isSecret: true, help })
}
