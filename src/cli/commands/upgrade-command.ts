/** `eider upgrade --check` looks for a newer release. It downloads nothing and changes nothing. */
import type { RunCommand } from '../command.ts'
import { CommandError, usageError } from '../command-error.ts'
import { safeLine } from '../terminal-text.ts'
import { show } from './record-output.ts'

const ANSWER_MS_MAX = 10_000
const ANSWER_CHARS_MAX = 100_000

interface Release {
  readonly version: string
  readonly date: string
  readonly upgrade: string
  /** The file for this system; null if there is none. */
  readonly file: { readonly url: string; readonly sha256: string } | null
}

export const upgrade: RunCommand = async ({ options, output, signal, environment }) => {
  if (options.flag('check') !== true) {
    const how = 'Eider does not replace itself: stop it, replace the file, and start it again'
    throw usageError(`upgrade: --check is missing. ${how}`)
  }
  const own = await ownPackage()
  const address = (environment.EIDER_RELEASES_URL || own.releases || '').replace(/\/+$/, '')
  const newest = await newestRelease(address, signal)
  const isNewer = Bun.semver.order(newest.version, own.version) > 0
  const { file } = newest
  const answer = { current: own.version, newest: newest.version, is_newer: isNewer, file }
  return show(output, answer, () => {
    if (!isNewer) return [`Eider ${own.version} is the newest release`]
    const shown = file === null ? [] : [`  ${file.url}`, `  SHA-256 ${file.sha256}`]
    const notes = newest.upgrade.split('\n').filter(Boolean)
    const head = `Eider ${newest.version} (${newest.date}) is out; this is ${own.version}`
    return [head, ...shown, ...notes].map(safeLine)
  })
}

/** Reads the package file next to the program, to which the build adds the URL of the releases. */
async function ownPackage(): Promise<{ readonly version: string; readonly releases?: string }> {
  return Bun.file(new URL('../../../package.json', import.meta.url)).json()
}

function fileName(): string {
  const isWindows = process.platform === 'win32'
  const system = isWindows ? 'windows' : process.platform
  return `eider-${system}-${process.arch}${isWindows ? '.exe' : ''}`
}

async function newestRelease(address: string, signal: AbortSignal): Promise<Release> {
  if (!URL.canParse(address) || !/^https?:/.test(address)) {
    const next = 'set EIDER_RELEASES_URL to the http or https address where you get Eider'
    throw new CommandError('no_releases', `There is no address to look for releases: ${next}`)
  }
  const url = `${address}/latest/download/release.json`
  const text = await textAt(url, signal)
  const release = releaseIn(text)
  if (release !== null) return release
  const message = `The answer from ${withoutLogin(url)} is not a release of Eider`
  throw new CommandError('no_releases', message)
}

async function textAt(url: string, signal: AbortSignal): Promise<string> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS_MAX)])
  const shown = withoutLogin(url)
  try {
    const response = await fetch(url, { signal: limit })
    if (!response.ok) {
      await response.body?.cancel()
      throw new CommandError('no_releases', `${shown} answered ${response.status}`)
    }
    return await shortText(response)
  } catch (cause) {
    signal.throwIfAborted()
    if (cause instanceof CommandError) throw cause
    const next = 'check the connection, or open it in a browser'
    throw new CommandError('no_releases', `${shown} does not answer: ${next}`, { cause })
  }
}

async function shortText(response: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes, { stream: true })
    if (text.length > ANSWER_CHARS_MAX) break
  }
  return text
}

function withoutLogin(address: string): string {
  const url = new URL(address)
  return `${url.origin}${url.pathname}`
}

/** Returns null if the text is from another server or a login page. */
function releaseIn(text: string): Release | null {
  try {
    const { version, date, upgrade = '', files } = JSON.parse(text)
    const { url, sha256 } = files[fileName()] ?? { url: '', sha256: '' }
    const isWhole = [version, date, upgrade, url, sha256].every((one) => typeof one === 'string')
    if (!isWhole || !/^\d+\.\d+\.\d+/.test(version)) return null
    return { version, date, upgrade, file: url === '' ? null : { url, sha256 } }
  } catch {
    return null
  }
}
