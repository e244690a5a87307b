/** Parses the words and options of a command line, and suggests corrections for mistyped ones. */
import { parseArgs } from 'node:util'
import { nearestName } from '../core/short-text.ts'
import { type CommandSpec, type OptionSpec, Options } from './command.ts'
import { usageError } from './command-error.ts'

export const COMMON_OPTIONS = {
  json: { help: 'print one JSON document, and errors as JSON' },
  quiet: { short: 'q', help: 'print only results and errors' },
  help: { short: 'h', help: 'show this help' },
} as const satisfies Readonly<Record<string, OptionSpec>>

/** @throws CommandError `usage` naming the mistake and similar valid words */
export function parseLine(name: string, spec: CommandSpec, args: readonly string[]) {
  const known: Readonly<Record<string, OptionSpec>> = { ...spec.options, ...COMMON_OPTIONS }
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(
      Object.entries(known).map(([option, { value, short }]) => {
        const type = value === undefined ? ('boolean' as const) : ('string' as const)
        return [option, short === undefined ? { type } : { type, short }]
      }),
    ),
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  const words: string[] = []
  const values = new Map<string, string[]>()
  for (const token of tokens) {
    if (token.kind === 'positional') words.push(token.value)
    if (token.kind !== 'option') continue
    const { option, value } = optionOf(name, known, token)
    const isRepeated = known[option]?.isRepeated === true
    values.set(option, isRepeated ? [...(values.get(option) ?? []), value] : [value])
  }
  if (values.get('help')?.[0] !== 'true') checkWordCount(name, spec, words)
  return { words, options: new Options(values) }
}

function optionOf(
  command: string,
  known: Readonly<Record<string, OptionSpec>>,
  given: {
    readonly name: string
    readonly rawName: string
    readonly value?: string | undefined
    readonly inlineValue?: boolean | undefined
  },
): { readonly option: string; readonly value: string } {
  const { name, rawName, value, inlineValue } = given
  const positive = name.replace(/^no-/, '')
  const isNegated = positive !== name && isSwitch(known[positive])
  const option = isNegated ? positive : name
  const spec = Object.hasOwn(known, option) ? known[option] : undefined
  if (spec === undefined) {
    const names = Object.keys(known).map((one) => `--${one}`)
    const hint = nearest(rawName, names) ?? `eider ${command} --help lists them all`
    const said = hint.startsWith('--') ? `did you mean ${hint}?` : hint
    throw usageError(`${command}: there is no option ${rawName}; ${said}`)
  }
  if (spec.value !== undefined) {
    if (value === undefined) throw usageError(`${command}: ${rawName} needs a value: ${spec.value}`)
    return { option, value }
  }
  if (inlineValue !== true) return { option, value: String(!isNegated) }
  if (value === 'true' || value === 'false')
    return { option, value: String((value === 'true') !== isNegated) }
  throw usageError(`${command}: ${rawName} is a switch; it takes no value "${value}"`)
}

function isSwitch(spec: OptionSpec | undefined): boolean {
  return spec !== undefined && spec.value === undefined
}

function checkWordCount(name: string, spec: CommandSpec, words: readonly string[]): void {
  const [min, max] = spec.words
  if (words.length >= min && words.length <= max) return
  const what = words.length < min ? 'something is missing' : `"${words[max]}" is not expected here`
  const usage = spec.usage.map((line) => `eider ${line}`).join('\n       ')
  throw usageError(`${name}: ${what}\nUsage: ${usage}\n       eider ${name} --help has examples`)
}

/** The valid word that was probably meant; undefined if none is similar. */
export function nearest(word: string, among: readonly string[]): string | undefined {
  const begins = word.length > 2 ? among.filter((one) => one.startsWith(word)) : []
  return begins.length === 1 ? begins[0] : nearestName(word, among)
}
