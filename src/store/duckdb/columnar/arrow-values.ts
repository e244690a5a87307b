/** Rows of JSON's values as an Arrow stream: each column has the type that holds all of its values. */
import type { ResultValue } from '../../../core/domain/query-result.ts'
import { type ArrowNode, batchMessage, END_OF_STREAM, schemaMessage } from './arrow-messages.ts'
import type { ArrowField, ArrowType } from './arrow-types.ts'

type Rows = readonly (readonly ResultValue[])[]

export function arrowOfValues(names: readonly string[], rows: Rows): Uint8Array {
  const fields = names.map((name, index): ArrowField => {
    return { name, type: typeOf(rows, index), isNullable: true, children: [] }
  })
  const nodes: ArrowNode[] = []
  const buffers: Uint8Array[] = []
  for (const [index, { type }] of fields.entries()) {
    const values = rows.map((row) => row[index] ?? null)
    const nullCount = values.filter((value) => value === null).length
    nodes.push({ length: rows.length, nullCount })
    buffers.push(bits(values.map((value) => value !== null)), ...buffersOf(values, type))
  }
  const batches = rows.length === 0 ? [] : [batchMessage({ rowCount: rows.length, nodes, buffers })]
  return Buffer.concat([schemaMessage(fields), ...batches, END_OF_STREAM])
}

function typeOf(rows: Rows, index: number): ArrowType {
  const values = rows.map((row) => row[index] ?? null).filter((value) => value !== null)
  if (values.length === 0) return { kind: 'utf8' }
  if (values.every((value) => typeof value === 'boolean')) return { kind: 'bool' }
  if (values.every(Number.isSafeInteger)) return { kind: 'int', bits: 64, isSigned: true }
  const isNumber = values.every((value) => typeof value === 'number')
  return isNumber ? { kind: 'float', bits: 64 } : { kind: 'utf8' }
}

function buffersOf(values: readonly ResultValue[], { kind }: ArrowType): readonly Uint8Array[] {
  if (kind === 'bool') return [bits(values.map((value) => value === true))]
  if (kind === 'int') return [bytes(BigInt64Array.from(values, (value) => BigInt(Number(value))))]
  if (kind === 'float') return [bytes(Float64Array.from(values, Number))]
  const texts = values.map((value) => Buffer.from(textOf(value)))
  const ends = new Int32Array(values.length + 1)
  for (const [index, { length }] of texts.entries()) ends[index + 1] = (ends[index] ?? 0) + length
  return [bytes(ends), Buffer.concat(texts)]
}

function textOf(value: ResultValue): string {
  if (value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function bytes({ buffer }: { readonly buffer: ArrayBufferLike }): Uint8Array {
  return new Uint8Array(buffer)
}

function bits(items: readonly boolean[]): Uint8Array {
  const packed = new Uint8Array(Math.ceil(items.length / 8))
  for (const [index, item] of items.entries()) {
    if (item) packed[index >> 3] = (packed[index >> 3] ?? 0) | (1 << (index & 7))
  }
  return packed
}
