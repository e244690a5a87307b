import { createReadStream } from 'node:fs'
import { BlockWriter } from './block-writer.ts'
import { EXACT_DIGITS } from './table-shape.ts'

const STRING_OR_NUMBER = /"(?:[^"\\\n]|\\.)*"|-?\d+\.\d+(?:[eE][+-]?\d+)?/g
const LONG_FRACTION = new RegExp(`^-?\\d{${EXACT_DIGITS + 1},}\\.`)

/**
 * A copy with quotes around numbers such as `9007199254740993.5`: DuckDB reads each number with a fraction as a DOUBLE,
 * even into text. It goes by lines, so that texts and numbers are whole.
 */
export async function withLongFractionsAsText(path: string, copy: string): Promise<string> {
  const writer = new BlockWriter(copy)
  const encoder = new TextEncoder()
  const decoder = new TextDecoder()
  let rest = ''
  const write = (text: string) => {
    const quoted = text.replace(STRING_OR_NUMBER, (found) =>
      LONG_FRACTION.test(found) ? `"${found}"` : found,
    )
    writer.write(encoder.encode(quoted))
  }
  for await (const piece of createReadStream(path, { highWaterMark: 1024 * 1024 })) {
    rest += decoder.decode(piece, { stream: true })
    const end = rest.lastIndexOf('\n') + 1
    write(rest.slice(0, end))
    rest = rest.slice(end)
  }
  write(rest + decoder.decode())
  writer.close()
  return copy
}
