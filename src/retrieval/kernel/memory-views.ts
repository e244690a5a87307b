/** The whole memory as numbers of each kind. */
export interface MemoryViews {
  readonly bytes: Uint8Array
  readonly codes: Int8Array
  readonly shorts: Int16Array
  readonly integers: Int32Array
  readonly words: Uint32Array
  readonly floats: Float32Array
  readonly doubles: Float64Array
}

export function memoryViews(buffer: ArrayBufferLike): MemoryViews {
  return {
    bytes: new Uint8Array(buffer),
    codes: new Int8Array(buffer),
    shorts: new Int16Array(buffer),
    integers: new Int32Array(buffer),
    words: new Uint32Array(buffer),
    floats: new Float32Array(buffer),
    doubles: new Float64Array(buffer),
  }
}
