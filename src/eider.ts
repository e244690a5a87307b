#!/usr/bin/env bun
/** `eider <command>`: a client of a running server, and maintenance of data folders while none runs. */
import packageJson from '../package.json' with { type: 'json' }
import type { CommandSpec } from './cli/command.ts'
import { CommandError, EXIT, usageError } from './cli/command-error.ts'
import { nearest, parseLine } from './cli/command-line.ts'
import { COMMANDS } from './cli/commands/command-table.ts'
import { clientOptionsOf, httpClient } from './cli/http-client.ts'
import { Output, ReaderLeft } from './cli/output.ts'

async function main(args: readonly string[]): Promise<number> {
  // Backups and exports are private to their owner.
  process.umask(0o077)
  const isJson = args.includes('--json')
  const output = new Output({
    isJson,
    isQuiet: isJson || args.includes('--quiet') || args.includes('-q'),
    environment: Bun.env,
  })
  try {
    return await runLine(args, output)
  } catch (error) {
    return await failed(error, output)
  }
}

async function runLine(args: readonly string[], output: Output): Promise<number> {
  const [first, ...rest] = args
  if (first === undefined || first === '--help' || first === '-h' || first === 'help') {
    const isAbout = first === 'help' && rest[0] !== undefined
    if (isAbout) return runLine([rest[0] ?? '', '--help'], output)
    const { generalHelp } = await import('./cli/commands/help.ts')
    if (first === undefined) output.warn(generalHelp(packageJson.version).trimEnd())
    else await output.write(generalHelp(packageJson.version))
    return first === undefined ? EXIT.usage : EXIT.done
  }
  if (first === '--version' || first === '-V') {
    await output.line(packageJson.version)
    return EXIT.done
  }
  const spec = commandOf(first)
  if (first === 'serve') {
    const { start } = await import('./main.ts')
    return start(rest)
  }
  const { words, options } = parseLine(first, spec, rest)
  if (options.flag('help') === true) {
    const { commandHelp } = await import('./cli/commands/help.ts')
    await output.write(commandHelp(first, spec))
    return EXIT.done
  }
  const client = httpClient(clientOptionsOf(Bun.env))
  const { run } = await spec.load()
  const signal = interruption()
  const code = await run({ words, options, client, output, signal, environment: Bun.env })
  return code ?? EXIT.done
}

function commandOf(name: string): CommandSpec {
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (command !== undefined) return command
  const near = nearest(name, Object.keys(COMMANDS))
  const hint = near === undefined ? 'eider --help lists them all' : `did you mean ${near}?`
  throw usageError(`there is no command ${name}; ${hint}`)
}

/** The first Ctrl-C stops the running work; a second one ends the program immediately. */
function interruption(): AbortSignal {
  const controller = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(EXIT.interrupted)
      controller.abort()
    })
  }
  return controller.signal
}

async function failed(error: unknown, output: Output): Promise<number> {
  if (error instanceof ReaderLeft) return EXIT.done
  if (error instanceof DOMException && error.name === 'AbortError') {
    if (output.isJson) tell({ code: 'interrupted', message: 'Interrupted' }, output)
    else output.warn('Interrupted')
    return EXIT.interrupted
  }
  if (error instanceof CommandError) {
    const { code, message, status, exitCode } = error
    tell({ code, message, ...(status === null ? {} : { status }) }, output)
    return exitCode
  }
  const { AppError, StartError } = await import('./core/errors.ts')
  if (error instanceof AppError) tell({ code: error.code, message: error.message }, output)
  else if (error instanceof StartError) tell({ code: 'failed', message: error.message }, output)
  else {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
    tell({ code: 'internal', message: text }, output)
  }
  return EXIT.failed
}

function tell(
  problem: { readonly code: string; readonly message: string; readonly status?: number },
  output: Output,
): void {
  if (output.isJson) output.warn(JSON.stringify(problem))
  else output.warn(`${output.red('eider:')} ${problem.message}`)
}

process.exit(await main(process.argv.slice(2)))
