/** Prints the help of `eider` and of each command. */
import type { CommandSpec, OptionSpec } from '../command.ts'
import { COMMON_OPTIONS } from '../command-line.ts'
import { COMMANDS, GROUPS } from './command-table.ts'

const ENVIRONMENT: readonly (readonly [name: string, help: string])[] = [
  ['EIDER_URL', "the server's URL (http://EIDER_HOST:EIDER_PORT)"],
  ['EIDER_API_KEY', 'a key, sent as a bearer token'],
  ['EIDER_USERNAME', 'logs in, together with EIDER_PASSWORD, if there is no key'],
  ['EIDER_RELEASES_URL', 'URL of the releases, for "eider upgrade --check"'],
  ['NO_COLOR', 'turns off colours'],
]

const NAME_COLUMNS = 18

export function generalHelp(version: string): string {
  const groups = GROUPS.map(([title, names]) => {
    const lines = names.map((name) => {
      return `  ${name.padEnd(NAME_COLUMNS)} ${COMMANDS[name]?.summary ?? ''}`
    })
    return `${title}:\n${lines.join('\n')}`
  })
  const settings = ENVIRONMENT.map(([name, help]) => `  ${name.padEnd(NAME_COLUMNS)} ${help}`)
  return `eider ${version}: Eider's command line

Usage: eider <command> [options]
       eider <command> --help       show its options and examples

${groups.join('\n\n')}

Environment:
${settings.join('\n')}

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.
Results go to stdout, everything else to stderr.
`
}

export function commandHelp(name: string, spec: CommandSpec): string {
  const usage = spec.usage.map((line) => `eider ${line}`).join('\n       ')
  const options = { ...spec.options, ...COMMON_OPTIONS }
  const shown = Object.entries(options).map(([option, one]) => [optionText(option, one), one.help])
  const width = Math.max(...shown.map(([text = '']) => text.length))
  const lines = shown.map(([text = '', help = '']) => `  ${text.padEnd(width)}  ${help}`)
  const notes = spec.notes === undefined ? '' : `\n${spec.notes}\n`
  const examples = spec.examples.map(([command, says]) => `  # ${says}\n  ${command}`)
  const { summary } = spec
  return `eider ${name}: ${summary}

Usage: ${usage}

Options:
${lines.join('\n')}
${notes}
Examples:
${examples.join('\n')}
`
}

function optionText(name: string, { short, value }: OptionSpec): string {
  const letter = short === undefined ? '    ' : `-${short}, `
  return `${letter}--${name}${value === undefined ? '' : ` ${value}`}`
}
