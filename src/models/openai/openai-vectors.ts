import { member } from '../member.ts'

/** More numbers than any model's vector has. */
const DIMENSIONS_MAX = 65_536

/**
 * The vectors of an embeddings answer in the order of the texts. Servers send numbers where base64
 * was asked for, mix up the order and leave out `index`: the first two are put right, anything else
 * that does not fit is refused.
 * @throws Error that says what does not fit
 */
export function vectorsFrom(answer: unknown, textCount: number): readonly Float32Array[] {
  const items = member(answer, 'data')
  if (!Array.isArray(items)) throw new Error('the answer has no list "data"')
  if (items.length !== textCount) {
    throw new Error(`${items.length} vectors came back for ${textCount} texts`)
  }
  const vectors: (Float32Array | undefined)[] = items.map(() => undefined)
  for (const [position, item] of items.entries()) {
    const index = member(item, 'index') ?? position
    if (typeof index !== 'number' || !(index in vectors) || vectors[index] !== undefined) {
      throw new Error(`the index of vector ${position + 1} is wrong`)
    }
    vectors[index] = checked(vectorFrom(member(item, 'embedding')), position)
  }
  return vectors.filter((vector) => vector !== undefined)
}

function vectorFrom(embedding: unknown): Float32Array | null {
  if (typeof embedding === 'string') return fromBase64(embedding)
  if (!Array.isArray(embedding) || embedding.length > DIMENSIONS_MAX) return null
  const isNumeric = embedding.every((value) => typeof value === 'number')
  return isNumeric ? Float32Array.from(embedding) : null
}

/** Little-endian float32 numbers, as OpenAI sends them. */
function fromBase64(text: string): Float32Array | null {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.length % 4 !== 0 || bytes.length > DIMENSIONS_MAX * 4) return null
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return Float32Array.from({ length: bytes.length / 4 }, (_, index) => {
    return view.getFloat32(index * 4, true)
  })
}

function checked(vector: Float32Array | null, position: number): Float32Array {
  const name = `vector ${position + 1}`
  if (vector === null || vector.length === 0) throw new Error(`${name} is no list of numbers`)
  if (vector.every((value) => Number.isFinite(value))) return vector
  throw new Error(`${name} holds a number that is not finite`)
}
