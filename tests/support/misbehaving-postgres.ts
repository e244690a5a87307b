/**
 * PostgreSQL servers that violate the protocol, by kind of misbehaviour. Run as a program, this
 * file serves all of them.
 */
import {
  type Behaviour,
  endlessBytes,
  forever,
  MB,
  type Peer,
  piece,
  reset,
  sends,
  serveBehaviours,
  silent,
} from './misbehaving-server.ts'

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(value)
  return bytes
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value | 0)
  return bytes
}

function text(value: string): Buffer {
  return Buffer.from(`${value}\0`)
}

/** @param length the announced length, by default the true one */
function message(kind: string, body: Uint8Array = Buffer.alloc(0), length = body.length + 4) {
  return Buffer.concat([Buffer.from(kind), int32(length), body])
}

function field(name: string, oid = 25): Buffer {
  return Buffer.concat([
    text(name),
    int32(0),
    int16(0),
    int32(oid),
    int16(0xffff),
    int32(-1),
    int16(0),
  ])
}

function described(...fields: readonly Buffer[]): Buffer {
  return message('T', Buffer.concat([int16(fields.length), ...fields]))
}

function row(...values: readonly (string | Uint8Array)[]): Buffer {
  const cells = values.flatMap((value) => {
    const bytes = Buffer.from(value)
    return [int32(bytes.length), bytes]
  })
  return message('D', Buffer.concat([int16(values.length), ...cells]))
}

function failure(words: string): Buffer {
  return message('E', Buffer.concat([text('SERROR'), text('CXX000'), text(`M${words}`), text('')]))
}

const READY = message('Z', Buffer.from('I'))
const DONE = message('C', text('SELECT 1'))
const LOGGED_IN = Buffer.concat([
  message('R', int32(0)),
  message('S', Buffer.concat([text('server_version'), text('17.0')])),
  message('K', Buffer.concat([int32(7), int32(7)])),
  READY,
])
const TEXT_TYPE = row('text', '25', '0', '-1', '0')
const INTEGER = 23
const BIGINT = 20
const NUMBER_TYPES = Buffer.concat([
  row('int4', '23', '0', '-1', '0'),
  row('int8', '20', '0', '-1', '0'),
])

/**
 * The parts of a server's behaviour that a kind can replace. The server behaves correctly in all
 * others.
 */
interface Script {
  /** Replaces the whole behaviour. */
  readonly accepted?: Behaviour
  /** Replaces the end of the login. */
  readonly login?: Behaviour
  /** Sent before the response to the first statement. */
  readonly loggedIn?: Behaviour
  readonly fields?: readonly Buffer[]
  readonly types?: Buffer
  /** Replaces the description of the SELECT. */
  readonly description?: Behaviour
  /** Replaces the rows of the SELECT. @param rowMessage creates a row, in COPY format if that was requested */
  readonly rows?: (peer: Peer, rowMessage: typeof row) => Promise<void>
}

const SSL_REQUEST = 80_877_103
const CANCEL_REQUEST = 80_877_102

async function startUp(peer: Peer): Promise<void> {
  for (;;) {
    const length = (await peer.take(4)).readInt32BE()
    const body = await peer.take(length - 4)
    const code = body.readInt32BE()
    if (code === CANCEL_REQUEST) throw new Error('cancelled')
    if (code !== SSL_REQUEST) return
    await peer.send(Buffer.from('N'))
  }
}

function copyRow(...values: readonly (string | Uint8Array)[]): Buffer {
  const quoted = values.map((value) => `"${Buffer.from(value).toString('latin1')}"`)
  return message('d', Buffer.from(`${quoted.join(',')}\n`, 'latin1'))
}

function scripted(script: Script): Behaviour {
  return async (peer) => {
    if (script.accepted !== undefined) return script.accepted(peer)
    await startUp(peer)
    await (script.login ?? ((one) => one.send(LOGGED_IN)))(peer)
    let isFirst = true
    let asked = ''
    for (;;) {
      const head = await peer.take(5)
      const kind = String.fromCharCode(head[0] ?? 0)
      const body = await peer.take(head.readInt32BE(1) - 4)
      if (kind === 'X') return
      if (isFirst) await script.loggedIn?.(peer)
      isFirst = false
      if (kind === 'Q') {
        if (!body.toString().startsWith('COPY')) await peer.send(DONE, READY)
        else {
          await peer.send(message('H', Buffer.from([0, 0, 1, 0, 0])))
          await (script.rows ?? honestRows)(peer, copyRow)
          await peer.send(message('c'), DONE, READY)
        }
      } else if (kind === 'P') {
        asked = body.toString()
        await peer.send(message('1'))
      } else if (kind === 'B') await peer.send(message('2'))
      else if (kind === 'D') {
        if (asked.includes('pg_type')) await peer.send(described(...FIVE))
        else if (script.description !== undefined) await script.description(peer)
        else await peer.send(described(...(script.fields ?? [field('v')])))
      } else if (kind === 'E') {
        if (asked.includes('pg_type')) await peer.send(script.types ?? TEXT_TYPE)
        else await (script.rows ?? honestRows)(peer, row)
        await peer.send(DONE)
      } else if (kind === 'S') await peer.send(READY)
      else if (kind === 'C') await peer.send(message('3'))
    }
  }
}

const FIVE = ['a', 'b', 'c', 'd', 'e'].map((name) => field(name))

async function honestRows(peer: Peer, rowMessage: typeof row): Promise<void> {
  await peer.send(rowMessage('fine'))
}

/** Sends many small messages at once. */
function flood(small: Uint8Array): Behaviour {
  const many = Buffer.concat(Array.from({ length: 2000 }, () => small))
  return (peer) => forever(() => peer.send(many))
}

const notice = message('N', Buffer.concat([text('SNOTICE'), text('Mhello'), text('')]))
const status = message('S', Buffer.concat([text('TimeZone'), text('UTC')]))

/** Asks for the password, receives it, and accepts any. */
async function clearTextPassword(peer: Peer): Promise<void> {
  await peer.send(message('R', int32(3)))
  const head = await peer.take(5)
  await peer.take(head.readInt32BE(1) - 4)
  await peer.send(LOGGED_IN)
}

async function saslLoop(peer: Peer): Promise<void> {
  await forever(async () => {
    await peer.send(message('R', Buffer.concat([int32(10), text('SCRAM-SHA-256'), text('')])))
    const head = await peer.take(5)
    await peer.take(head.readInt32BE(1) - 4)
  })
}

async function manyRounds(peer: Peer): Promise<void> {
  await peer.send(message('R', Buffer.concat([int32(10), text('SCRAM-SHA-256'), text('')])))
  const head = await peer.take(5)
  const initial = (await peer.take(head.readInt32BE(1) - 4)).toString()
  const nonce = initial.slice(initial.indexOf('r=') + 2)
  const first = `r=${nonce}more,s=c2FsdA==,i=2147483647`
  await peer.send(message('R', Buffer.concat([int32(11), Buffer.from(first)])))
  await peer.silence()
}

async function slowly(peer: Peer): Promise<void> {
  const bytes = row('slow')
  for (const byte of bytes) {
    await peer.send(Buffer.from([byte]))
    await Bun.sleep(1000)
  }
  await peer.silence()
}

const SCRIPTS: Readonly<Record<string, Script>> = {
  honest: {},
  'silence-after-accept': { accepted: silent },
  'garbage-after-accept': { accepted: flood(Buffer.from([0xde, 0xad, 0xbe, 0xef, 0x00, 0x7f])) },
  'reset-after-accept': { accepted: reset },
  'silence-after-start-up': { login: silent },
  'reset-after-start-up': { login: reset },
  'clear-text-password': { login: clearTextPassword },
  'md5-loop': { login: flood(message('R', Buffer.concat([int32(5), Buffer.from('salt')]))) },
  'sasl-loop': { login: saslLoop },
  'sasl-many-rounds': { login: manyRounds },
  'unknown-auth': { login: sends(message('R', int32(99))) },
  'endless-notices-at-login': { login: flood(notice) },
  'endless-parameter-status': { login: flood(status) },
  'error-of-50-mb': {
    login: async (peer) => {
      await peer.send(Buffer.from('E'), int32(50 * MB + 11), text('SERROR'), Buffer.from('M'))
      for (let sent = 0; sent < 50; sent += 1) await peer.send(piece)
      await peer.send(Buffer.from([0, 0]))
      await peer.silence()
    },
  },
  'error-without-end': { login: sends(message('E', Buffer.from('Mxx'))) },
  'reset-after-login': { loggedIn: reset },
  'silence-after-login': { loggedIn: silent },
  'endless-notices': { loggedIn: flood(notice) },
  'ready-flood': { loggedIn: flood(READY) },
  'complete-flood': { loggedIn: flood(DONE) },
  'copy-in-response': { loggedIn: sends(message('G', Buffer.from([0, 0, 0]))) },
  'copy-out-response': { loggedIn: sends(message('H', Buffer.from([0, 0, 0])), READY) },
  'unknown-messages': { loggedIn: flood(message('?', Buffer.from('what'))) },
  'columns-65535': { description: sends(message('T', int16(65_535))) },
  'columns-32767': {
    description: (peer) =>
      sends(described(...Array.from({ length: 32_767 }, () => field('c'))))(peer),
  },
  'endless-descriptions': { description: flood(described(...FIVE)) },
  'huge-column-name': { fields: [field('n'.repeat(500_000))] },
  'column-name-of-40-mb': {
    description: async (peer) => {
      await peer.send(Buffer.from('T'), int32(40 * MB), int16(1))
      await endlessBytes(peer)
    },
  },
  'one-endless-value': {
    rows: async (peer) => {
      await peer.send(Buffer.from('D'), int32(0x7fffffff), int16(1), int32(0x7ffffff0))
      await endlessBytes(peer)
    },
  },
  'endless-copy-value': {
    rows: async (peer) => {
      await peer.send(Buffer.from('d'), int32(0x7fffffff))
      await endlessBytes(peer)
    },
  },
  'endless-rows-of-1-mb': {
    rows: (peer, rowMessage) => forever(() => peer.send(rowMessage(piece))),
  },
  'endless-small-rows': { rows: (peer, rowMessage) => flood(rowMessage('v'))(peer) },
  'length-2-gb': { rows: sends(message('D', Buffer.alloc(0), 0x7fffffff)) },
  'length-negative': { rows: flood(message('D', Buffer.alloc(8), -1)) },
  'length-zero': { rows: flood(message('D', Buffer.alloc(8), 0)) },
  'value-longer-than-its-row': {
    rows: flood(message('D', Buffer.concat([int16(1), int32(1000), Buffer.from('short')]))),
  },
  'value-of-negative-length': { rows: flood(message('D', Buffer.concat([int16(1), int32(-77)]))) },
  'row-without-columns': { rows: flood(message('D', int16(0))) },
  'more-columns-than-described': { rows: sends(row('a', 'b', 'c')) },
  'fewer-columns-than-described': { fields: [field('v'), field('w')], rows: sends(row('a')) },
  'silence-in-mid-row': {
    rows: sends(row('first'), row('second').subarray(0, 8)),
  },
  'one-byte-a-second': { rows: slowly },
  'reset-in-mid-row': {
    rows: async (peer) => {
      await peer.send(row('first'), row('second').subarray(0, 8))
      await Bun.sleep(200)
      peer.reset()
    },
  },
  'garbage-in-mid-row': {
    rows: (peer) => flood(crypto.getRandomValues(new Uint8Array(5000)))(peer),
  },
  'wrong-order': { rows: sends(message('2'), message('1'), message('n'), message('s'), READY) },
  'invalid-utf-8': { rows: (peer, rowMessage) => peer.send(rowMessage(Buffer.from([0xff, 0xfe]))) },
  'numbers-that-are-none': {
    fields: [field('v', INTEGER), field('w', BIGINT)],
    types: NUMBER_TYPES,
    rows: (peer, rowMessage) => peer.send(rowMessage('seven', '0x')),
  },
  'error-after-rows': { rows: sends(row('first'), failure('it broke'), READY) },
}

export const POSTGRES_KINDS = Object.keys(SCRIPTS)

if (import.meta.main) {
  const behaviours = Object.entries(SCRIPTS).map(([kind, script]) => [kind, scripted(script)])
  await serveBehaviours(Object.fromEntries(behaviours))
}
