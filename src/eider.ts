#!/usr/bin/env bun
/** `eider <command>`: a client of a running server, and what is done to data folders while none runs. */
import packageJson from '../package.json' with { type: 'json' }
import { COMMANDS, parseWords } from './cli/commands.ts'
import { CLIENT_HELP, clientOptionsOf, httpClient } from './cli/http-client.ts'
import { AppError, StartError } from './errors.ts'
import { SETTINGS } from './settings.ts'

const USAGE_ERROR = 2

function help(): string {
  const usages = Object.values(COMMANDS).map(({ usage, summary }) => {
    return `  ${usage.padEnd(48)} ${summary}`
  })
  return `eider ${packageJson.version}: the command line of Eider

Usage: eider <command> [--json]

Commands:
${usages.join('\n')}

Settings, as environment variables (defaults in parentheses):
${CLIENT_HELP}
`
}

async function main(args: readonly string[]): Promise<number> {
  // Backups and exports are nobody else's.
  process.umask(0o077)
  const isJson = args.includes('--json')
  const [name, ...rest] = args.filter((arg) => arg !== '--json')
  if (name === '--version') {
    process.stdout.write(`${packageJson.version}\n`)
    return 0
  }
  if (name === undefined || name === '--help' || rest.includes('--help')) {
    process.stdout.write(help())
    return name === undefined ? USAGE_ERROR : 0
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (command === undefined)
    return failed(`there is no command ${name}; --help lists them`, USAGE_ERROR)
  let words: ReturnType<typeof parseWords>
  try {
    words = parseWords(name, command, rest)
  } catch (error) {
    return failed(messageOf(error), USAGE_ERROR)
  }
  try {
    const { lines, json } = await command.run({
      ...words,
      client: httpClient(clientOptionsOf(Bun.env, SETTINGS.port.default)),
      say: (line) => process.stderr.write(`${line}\n`),
    })
    process.stdout.write(isJson ? `${JSON.stringify(json)}\n` : `${lines.join('\n')}\n`)
    return 0
  } catch (error) {
    return failed(messageOf(error), 1)
  }
}

function failed(message: string, exitCode: number): number {
  process.stderr.write(`eider: ${message}\n`)
  return exitCode
}

function messageOf(error: unknown): string {
  if (error instanceof AppError || error instanceof StartError) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

process.exit(await main(process.argv.slice(2)))
