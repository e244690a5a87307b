import { expect, test } from 'bun:test'
import { yieldToEventLoop } from '../../src/core/runtime/serial-queue.ts'
import { PostgresMessages } from '../../src/sources/postgres/postgres-messages.ts'
import { WireMessages } from '../../src/sources/wire-messages.ts'

const frame = (kind: string, body: Buffer) => {
  const head = Buffer.alloc(5)
  head.write(kind)
  head.writeUInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

const BODIES = ['1,"tea"\n', '\n', '', `${'x'.repeat(400)}\n`, 'ddddd\n', '\0\0\0\0\0']
const KINDS = 'dddddSddHddcdS'

/** What a server sends during a COPY, with notices among the rows, and the expected result. */
function conversation() {
  const frames = Array.from({ length: 60 }, (_, index) => {
    const kind = KINDS[index % KINDS.length] ?? ''
    return { kind, body: Buffer.from(BODIES[(index * 7) % BODIES.length] ?? '') }
  })
  const rows = frames.filter(({ kind }) => kind === 'd').map(({ body }) => body)
  const others = frames
    .filter(({ kind }) => kind !== 'd')
    .map(({ kind, body }) => frame(kind, body))
  return {
    bytes: Buffer.concat(frames.map(({ kind, body }) => frame(kind, body))),
    rows: Buffer.concat(rows).toString('latin1'),
    sizes: rows.map(({ length }) => length),
    others: Buffer.concat(others).toString('latin1'),
  }
}

/** A server that sends only as fast as it is read. */
function reading(pass: (message: Buffer) => void) {
  const format = new PostgresMessages(false)
  let failure: Error | undefined
  const stream = {
    pause: () => {},
    resume: () => {},
    destroy: (error?: Error) => {
      failure = error
    },
  }
  const messages = new WireMessages(format, () => stream, pass)
  return { format, messages, failure: () => failure?.message }
}

/** Messages are passed on for a few milliseconds in each turn. */
async function turns(isDone: () => boolean): Promise<void> {
  for (let turn = 0; turn < 1000 && !isDone(); turn += 1) await yieldToEventLoop()
}

async function taken(pieces: readonly Buffer[], count: number) {
  const passed: Buffer[] = []
  const rows: Buffer[] = []
  const sizes: number[] = []
  const { format, messages } = reading((bytes) => passed.push(Buffer.from(bytes)))
  format.sink = {
    row: (sizeBytes) => sizes.push(sizeBytes),
    take: (bytes) => rows.push(Buffer.from(bytes)),
  }
  for (const piece of pieces) messages.take(Buffer.from(piece))
  await turns(() => passed.length + sizes.length === count)
  return {
    rows: Buffer.concat(rows).toString('latin1'),
    sizes,
    others: Buffer.concat(passed).toString('latin1'),
  }
}

test('rows are taken from their frames, and the rest is passed on, at any cut of the pieces', async () => {
  const { bytes, ...expected } = conversation()
  const cut = (size: number) => {
    return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => {
      return bytes.subarray(index * size, (index + 1) * size)
    })
  }
  for (let size = 1; size < 600; size += 1) expect(await taken(cut(size), 60)).toEqual(expected)
  for (let at = 0; at <= bytes.length; at += 1) {
    const pieces = [bytes.subarray(0, at), bytes.subarray(at)]
    expect(await taken(pieces, 60)).toEqual(expected)
  }
})

test('without a COPY every message goes on, whole', async () => {
  const { bytes } = conversation()
  const passed: Buffer[] = []
  const { messages } = reading((part) => passed.push(Buffer.from(part)))
  for (let at = 0; at < bytes.length; at += 7) messages.take(bytes.subarray(at, at + 7))
  await turns(() => passed.length === 60)
  expect(Buffer.concat(passed)).toEqual(bytes)
  expect(passed).toHaveLength(60)
})

test('while a reader holds, messages wait, and come in their order', async () => {
  const passed: string[] = []
  const { messages } = reading((part) => {
    passed.push(part.subarray(5).toString())
    if (passed.length % 2 === 0) messages.hold()
  })
  const bytes = Buffer.concat(
    ['1', '2', '3', '4', '5'].map((body) => frame('S', Buffer.from(body))),
  )
  messages.take(bytes.subarray(0, 20))
  messages.take(bytes.subarray(20))
  await turns(() => passed.length === 2)
  await turns(() => passed.length > 2)
  expect(passed).toEqual(['1', '2'])
  messages.release()
  await turns(() => passed.length === 4)
  messages.release()
  await turns(() => passed.length === 5)
  expect(passed).toEqual(['1', '2', '3', '4', '5'])
})

test.each([
  ['a size of less than itself', Buffer.from('D\0\0\0\x03'), 'a message of 3 bytes'],
  ['a negative size', Buffer.from('Dÿÿÿÿ', 'latin1'), 'a message of more than 16 MB'],
  ['a row of 17 MB', Buffer.from('D\x01\x10\0\0', 'latin1'), 'a message of more than 16 MB'],
  ['an error of 2 MB', Buffer.from('E\0\x20\0\0', 'latin1'), 'a message of more than 1 MB'],
  ['an error without end', frame('E', Buffer.from('Mwhy')), 'an error without end'],
  ['a value past its row', frame('D', Buffer.from('\0\x01\0\0\0\x09abc')), 'have another size'],
  ['a value that is cut', frame('D', Buffer.from('\0\x02\0\0\0\0\0')), 'ends in its values'],
  ['a count of -1', frame('T', Buffer.from('ÿÿabc', 'latin1')), 'an invalid number of columns'],
  ['clear text', frame('R', Buffer.from([0, 0, 0, 3])), 'the password in clear text'],
])('%s ends the session before the library sees it', (_, bytes, words) => {
  let passedCount = 0
  const { messages, failure } = reading(() => {
    passedCount += 1
  })
  messages.take(bytes)
  expect(failure()).toContain(words)
  expect(passedCount).toBe(0)
})
