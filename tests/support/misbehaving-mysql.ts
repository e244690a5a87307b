/**
 * MySQL servers that violate the protocol, by kind of misbehaviour. Run as a program, this file
 * serves all of them.
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

/** A packet of this length means that the message continues in the next packet. */
const CONTINUED = 0xffffff

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16LE(value)
  return bytes
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

function header(length: number, sequence: number): Buffer {
  return Buffer.from([length & 0xff, (length >> 8) & 0xff, (length >> 16) & 0xff, sequence & 0xff])
}

function packet(sequence: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts)
  return Buffer.concat([header(body.length, sequence), body])
}

function counted(bytes: Uint8Array | string): Buffer {
  const value = Buffer.from(bytes)
  const { length } = value
  if (length < 251) return Buffer.concat([Buffer.from([length]), value])
  if (length < 65_536) return Buffer.concat([Buffer.from([0xfc]), uint16(length), value])
  return Buffer.concat([Buffer.from([0xfd]), uint32(length).subarray(0, 3), value])
}

const VAR_STRING = 253
const LONG = 3
const LONGLONG = 8

function column(sequence: number, name: string, type = VAR_STRING): Buffer {
  const names = ['def', '', '', '', name, name].map(counted)
  const rest = [Buffer.from([12]), uint16(45), uint32(1000), Buffer.from([type]), uint16(0)]
  return packet(sequence, ...names, ...rest, Buffer.from([0, 0, 0]))
}

const EOF = (sequence: number) => packet(sequence, Buffer.from([0xfe, 0, 0, 2, 0]))
const OK = (sequence: number) => packet(sequence, Buffer.from([0, 0, 0, 2, 0, 0, 0]))
const failure = (sequence: number, words: string | Uint8Array) =>
  packet(sequence, Buffer.from([0xff]), uint16(1105), Buffer.from('#HY000'), Buffer.from(words))

const SESSION_TRACK = 0x80_0000
const CAPABILITIES = 0x0008_a205

function greeting(plugin = 'mysql_native_password', capabilities = CAPABILITIES): Buffer {
  const salt = Buffer.from('12345678')
  return packet(
    0,
    Buffer.from([10]),
    Buffer.from('8.0.36\0'),
    uint32(7),
    salt,
    Buffer.from([0]),
    uint16(capabilities & 0xffff),
    Buffer.from([45]),
    uint16(2),
    uint16(capabilities >>> 16),
    Buffer.from([21]),
    Buffer.alloc(10),
    Buffer.from('abcdefghijkl\0'),
    Buffer.from(`${plugin}\0`),
  )
}

/**
 * The parts of a server's behaviour that a kind can replace. The server behaves correctly in all
 * others.
 */
interface Script {
  /** Replaces the whole behaviour. */
  readonly accepted?: Behaviour
  readonly greeting?: Buffer
  /** Replaces the end of the login. @param sequence the number of the answer */
  readonly login?: (peer: Peer, sequence: number) => Promise<void>
  /** Replaces the answer to the first statement. */
  readonly loggedIn?: Behaviour
  /** Replaces the description of a prepared SELECT. */
  readonly prepared?: Behaviour
  readonly names?: readonly string[]
  readonly type?: number
  /** Replaces the description of the SELECT's rows. */
  readonly description?: Behaviour
  /** Replaces the rows of the SELECT. */
  readonly rows?: (peer: Peer, next: () => number) => Promise<void>
}

async function taken(peer: Peer): Promise<{ readonly body: Buffer; readonly sequence: number }> {
  const head = await peer.take(4)
  const body = await peer.take(head.readUIntLE(0, 3))
  return { body, sequence: head[3] ?? 0 }
}

function resultOf(names: readonly string[], type?: number): Buffer {
  const columns = names.map((name, index) => column(index + 2, name, type))
  const head = packet(1, Buffer.from([names.length]))
  return Buffer.concat([head, ...columns, EOF(names.length + 2)])
}

function scripted(script: Script): Behaviour {
  const names = script.names ?? ['v']
  return async (peer) => {
    if (script.accepted !== undefined) return script.accepted(peer)
    await peer.send(script.greeting ?? greeting())
    const { sequence } = await taken(peer)
    if (script.login === undefined) await peer.send(OK(sequence + 1))
    else await script.login(peer, sequence + 1)
    let isFirst = true
    for (;;) {
      const { body } = await taken(peer)
      const command = body[0]
      const sql = body.subarray(1).toString()
      if (isFirst && script.loggedIn !== undefined) await script.loggedIn(peer)
      isFirst = false
      if (command === 1) return
      if (command === 0x19) continue
      if (command === 0x16) {
        if (script.prepared !== undefined) await script.prepared(peer)
        else {
          const head = [Buffer.from([0]), uint32(1), uint16(names.length), uint16(0)]
          const columns = names.map((name, index) => column(index + 2, name, script.type))
          await peer.send(
            packet(1, ...head, Buffer.from([0]), uint16(0)),
            ...columns,
            EOF(names.length + 2),
          )
        }
      } else if (sql.includes('VERSION()')) {
        await peer.send(resultOf(['VERSION()']), packet(4, counted('8.0.36')), EOF(5))
      } else if (!/^\(?SELECT/.test(sql)) await peer.send(OK(1))
      else {
        if (script.description !== undefined) await script.description(peer)
        else await peer.send(resultOf(names, script.type))
        let last = names.length + 2
        const next = () => {
          last = (last + 1) & 0xff
          return last
        }
        if (script.rows === undefined) await peer.send(packet(next(), counted('fine')))
        else await script.rows(peer, next)
        await peer.send(EOF(next()))
      }
    }
  }
}

/** Sends many small packets at once, in their order. */
function flood(small: (sequence: number) => Uint8Array) {
  return (peer: Peer, next?: () => number) => {
    let own = 0
    const following =
      next ??
      (() => {
        own = (own + 1) & 0xff
        return own
      })
    return forever(() => peer.send(...Array.from({ length: 2048 }, () => small(following()))))
  }
}

function switchTo(plugin: string): NonNullable<Script['login']> {
  return async (peer, sequence) => {
    const salt = Buffer.from('12345678abcdefghijkl\0')
    await peer.send(packet(sequence, Buffer.from([0xfe]), Buffer.from(`${plugin}\0`), salt))
    const { sequence: answered } = await taken(peer)
    await peer.send(OK(answered + 1))
  }
}

async function switchLoop(peer: Peer, sequence: number): Promise<void> {
  const salt = Buffer.from('mysql_native_password\x0012345678abcdefghijkl\0')
  let next = sequence
  await forever(async () => {
    await peer.send(packet(next, Buffer.from([0xfe]), salt))
    next = (await taken(peer)).sequence + 1
  })
}

/** Sends one message in packets of maximum length. */
async function endlessMessage(peer: Peer, next: () => number, first: Uint8Array): Promise<void> {
  let head = first
  await forever(async () => {
    await peer.send(header(CONTINUED, next()), head)
    for (let left = CONTINUED - head.length; left > 0; left -= MB) {
      await peer.send(piece.subarray(0, Math.min(MB, left)))
    }
    head = Buffer.alloc(0)
  })
}

const HUGE = Buffer.from([0xfe, 0xf0, 0xff, 0xff, 0x7f, 0, 0, 0, 0])

const SCRIPTS: Readonly<Record<string, Script>> = {
  honest: {},
  'silence-after-accept': { accepted: silent },
  'garbage-after-accept': {
    accepted: (peer) => forever(() => peer.send(crypto.getRandomValues(new Uint8Array(5000)))),
  },
  'reset-after-accept': { accepted: reset },
  'endless-greeting': {
    accepted: async (peer) => {
      await peer.send(header(CONTINUED, 0), Buffer.from([10]))
      await endlessBytes(peer)
    },
  },
  'silence-after-greeting': { login: silent },
  'reset-after-greeting': { login: reset },
  'clear-text-password': { login: switchTo('mysql_clear_password') },
  'clear-text-greeting': { greeting: greeting('mysql_clear_password') },
  'sha256-greeting': { greeting: greeting('sha256_password') },
  'unknown-auth': { login: switchTo('dialog') },
  'prototype-auth': { login: switchTo('__proto__') },
  'auth-switch-loop': { login: switchLoop },
  'auth-more-data-flood': {
    login: (peer) => flood((sequence) => packet(sequence, Buffer.from([1, 3])))(peer),
  },
  'silence-after-login': { loggedIn: silent },
  'reset-after-login': { loggedIn: reset },
  'ok-flood': { loggedIn: flood(OK) },
  'eof-flood': { loggedIn: flood(EOF) },
  'ok-of-20-mb': {
    loggedIn: (peer) => {
      let last = 0
      const next = () => {
        last += 1
        return last
      }
      return endlessMessage(peer, next, Buffer.from([0, 0, 0]))
    },
  },
  'ok-with-endless-session-state': {
    greeting: greeting('mysql_native_password', CAPABILITIES | SESSION_TRACK),
    loggedIn: sends(
      packet(1, Buffer.from([0, 0, 0, 2, 0x40, 0, 0, 0]), HUGE, Buffer.from([9, 0, 9, 0])),
    ),
  },
  'error-of-50-mb': {
    loggedIn: (peer) => {
      let last = 0
      const next = () => {
        last += 1
        return last
      }
      return endlessMessage(peer, next, Buffer.from([0xff, 0x51, 0x04, 0x23]))
    },
  },
  'error-of-10-mb': { loggedIn: sends(failure(1, Buffer.alloc(10 * MB, 'e'))) },
  'local-infile': { loggedIn: sends(packet(1, Buffer.from([0xfb]), Buffer.from('/etc/passwd'))) },
  'wrong-sequence': {
    loggedIn: (peer) => forever(() => peer.send(...Array.from({ length: 2048 }, () => OK(77)))),
  },
  'columns-65535': { description: sends(packet(1, Buffer.from([0xfc]), uint16(65_535))) },
  'columns-65535-described': {
    description: async (peer) => {
      await peer.send(packet(1, Buffer.from([0xfc]), uint16(65_535)))
      // The client receives it before this process creates the others.
      await Bun.sleep(0)
      const columns = Array.from({ length: 65_535 }, (_, index) => column(index + 2, `c${index}`))
      await sends(...columns, EOF(65_537))(peer)
    },
  },
  'columns-without-end': {
    description: async (peer) => {
      await peer.send(packet(1, HUGE))
      let last = 1
      await flood((sequence) => column(sequence, 'c'))(peer, () => {
        last += 1
        return last
      })
    },
  },
  'prepared-columns-65535': {
    prepared: sends(
      packet(
        1,
        Buffer.from([0]),
        uint32(1),
        uint16(65_535),
        uint16(65_535),
        Buffer.from([0, 0, 0]),
      ),
    ),
  },
  'huge-column-name': { names: ['n'.repeat(500_000)] },
  'one-endless-value': {
    rows: (peer, next) => endlessMessage(peer, next, HUGE),
  },
  'endless-rows-of-1-mb': {
    rows: (peer, next) => forever(() => peer.send(packet(next(), counted(piece)))),
  },
  'endless-small-rows': { rows: flood((sequence) => packet(sequence, counted('v'))) },
  'length-of-16-mb-and-silence': { rows: (peer, next) => sends(header(CONTINUED, next()))(peer) },
  'length-zero': { rows: flood((sequence) => header(0, sequence)) },
  'value-longer-than-its-row': {
    rows: flood((sequence) => packet(sequence, HUGE, Buffer.from('short'))),
  },
  'more-columns-than-described': {
    rows: (peer, next) =>
      sends(packet(next(), counted('a'), counted('b'), counted('c')), EOF(next()))(peer),
  },
  'fewer-columns-than-described': {
    names: ['v', 'w'],
    rows: (peer, next) => sends(packet(next(), counted('a')), EOF(next()))(peer),
  },
  'silence-in-mid-row': {
    rows: (peer, next) =>
      sends(
        packet(next(), counted('first')),
        packet(next(), counted('second')).subarray(0, 6),
      )(peer),
  },
  'one-byte-a-second': {
    rows: async (peer, next) => {
      for (const byte of packet(next(), counted('slow'.repeat(100)))) {
        await peer.send(Buffer.from([byte]))
        await Bun.sleep(1000)
      }
    },
  },
  'reset-in-mid-row': {
    rows: async (peer, next) => {
      await peer.send(packet(next(), counted('first')), Buffer.from([9, 0]))
      await Bun.sleep(200)
      peer.reset()
    },
  },
  'garbage-in-mid-row': {
    rows: (peer) => forever(() => peer.send(crypto.getRandomValues(new Uint8Array(5000)))),
  },
  'invalid-utf-8': {
    rows: (peer, next) => peer.send(packet(next(), counted(Buffer.from([0xff, 0xfe])))),
  },
  'numbers-that-are-none': {
    names: ['v', 'w'],
    type: LONG,
    rows: (peer, next) => peer.send(packet(next(), counted('seven'), counted('0x'))),
  },
  'large-numbers-that-are-none': {
    type: LONGLONG,
    rows: (peer, next) => peer.send(packet(next(), counted('nine'))),
  },
  'error-after-rows': {
    rows: (peer, next) =>
      sends(packet(next(), counted('first')), failure(next(), 'it broke'))(peer),
  },
}

export const MYSQL_KINDS = Object.keys(SCRIPTS)

if (import.meta.main) {
  const behaviours = Object.entries(SCRIPTS).map(([kind, script]) => [kind, scripted(script)])
  await serveBehaviours(Object.fromEntries(behaviours))
}
