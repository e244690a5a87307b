import { resolve } from 'node:path'
import type { OpenPeer, Peer, PeerPlaces, SearchAnswers } from './peer.ts'

/** Loading a graph of a million vectors takes minutes. */
const ANSWER_MS_MAX = 3_600_000
const STOP_MS_MAX = 40_000
const OUTPUT_CHARS_MAX = 400

export interface ProcessPeerOptions extends Omit<Peer, 'open'> {
  /** A script in this folder. `lines.py` describes its input and output. */
  readonly script: string
  readonly kind?: string
  readonly python: string
}

/** A peer in a process of its own that uses the protocol of `lines.py`. */
export function processPeer({ script, kind, python, ...peer }: ProcessPeerOptions): Peer {
  const parts = [python, resolve(import.meta.dir, script)]
  return { ...peer, open: (places) => openProcess(parts, places, kind) }
}

async function openProcess(
  command: readonly string[],
  { set, folder }: PeerPlaces,
  kind?: string,
): Promise<OpenPeer> {
  const child = Bun.spawn([...command, set.folder, folder, ...(kind === undefined ? [] : [kind])], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const failure = lastOf(child.stderr)
  const answers = lines(child.stdout)
  const next = async (): Promise<unknown> => {
    const timer = setTimeout(() => child.kill('SIGKILL'), ANSWER_MS_MAX)
    const { value, done } = await answers.next().finally(() => clearTimeout(timer))
    if (!done) return JSON.parse(value)
    throw new Error(`it ended: ${(await failure).trim().split('\n').at(-1)}`)
  }
  const ask = (message: unknown) => {
    child.stdin.write(`${JSON.stringify(message)}\n`)
    child.stdin.flush()
    return next()
  }
  const close = async () => {
    child.stdin.end()
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX)
    await child.exited
    clearTimeout(timer)
  }
  try {
    // `lines.py` defines the form of each answer.
    const first = (await next()) as Required<Pick<OpenPeer, 'versions' | 'address'>>
    return {
      ...first,
      pid: child.pid,
      load: async () => void (await ask({ command: 'load' })),
      // `lines.py` defines this form.
      search: async (request) => (await ask({ command: 'search', ...request })) as SearchAnswers,
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

async function* lines(output: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of output) {
    const parts = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = parts.pop() ?? ''
    yield* parts
  }
  return undefined
}

async function lastOf(output: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder()
  let last = ''
  for await (const bytes of output) {
    last = (last + decoder.decode(bytes, { stream: true })).slice(-OUTPUT_CHARS_MAX)
  }
  return last
}
