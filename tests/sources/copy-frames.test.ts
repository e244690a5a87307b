import { expect, test } from 'bun:test'
import { CopyFrames } from '../../src/sources/postgres/copy-frames.ts'

const frame = (kind: string, body: Buffer) => {
  const head = Buffer.alloc(5)
  head.write(kind)
  head.writeUInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

const BODIES = ['1,"tea"\n', '\n', '', `${'x'.repeat(400)}\n`, 'ddddd\n', '\0\0\0\0\0']
const KINDS = 'dddddSddHddcdN'

/** What a server sends during a COPY, with notices among the rows, and what must come of it. */
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

function taken(pieces: readonly Buffer[]) {
  const passed: Buffer[] = []
  const rows: Buffer[] = []
  const sizes: number[] = []
  const frames = new CopyFrames((bytes) => passed.push(Buffer.from(bytes)))
  frames.sink = {
    row: (sizeBytes) => sizes.push(sizeBytes),
    take: (bytes) => rows.push(Buffer.from(bytes)),
  }
  for (const piece of pieces) frames.take(Buffer.from(piece))
  return {
    rows: Buffer.concat(rows).toString('latin1'),
    sizes,
    others: Buffer.concat(passed).toString('latin1'),
  }
}

test('rows come out of their frames, and the rest goes on, wherever the pieces are cut', () => {
  const { bytes, ...expected } = conversation()
  const cut = (size: number) => {
    return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => {
      return bytes.subarray(index * size, (index + 1) * size)
    })
  }
  for (let size = 1; size < 600; size += 1) expect(taken(cut(size))).toEqual(expected)
  for (let at = 0; at <= bytes.length; at += 1) {
    expect(taken([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(expected)
  }
})

test('without a COPY everything goes on as it came', () => {
  const { bytes } = conversation()
  const passed: Buffer[] = []
  const frames = new CopyFrames((part) => passed.push(Buffer.from(part)))
  for (let at = 0; at < bytes.length; at += 7) frames.take(bytes.subarray(at, at + 7))
  expect(Buffer.concat(passed)).toEqual(bytes)
})

test('a COPY that begins after half of another message came takes its rows and no other', () => {
  const passed: Buffer[] = []
  const rows: string[] = []
  const frames = new CopyFrames((part) => passed.push(Buffer.from(part)))
  const notice = frame('N', Buffer.from('ddddddddd'))
  frames.take(notice.subarray(0, 3))
  frames.sink = { row: () => {}, take: (bytes) => rows.push(Buffer.from(bytes).toString()) }
  frames.take(Buffer.concat([notice.subarray(3), frame('d', Buffer.from('1\n'))]))
  expect(Buffer.concat(passed)).toEqual(notice)
  expect(rows).toEqual(['1\n'])
})
