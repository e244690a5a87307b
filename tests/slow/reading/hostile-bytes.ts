/** Building blocks of hostile files. */

/** Maps the name of a file to its bytes. */
export type Corpus = Readonly<Record<string, () => Uint8Array | string>>

export const MB = 1024 * 1024

export function many(count: number, text: (index: number) => string, between = ''): string {
  return Array.from({ length: count }, (_, index) => text(index)).join(between)
}

export function filled(size: number, byte: number): Uint8Array {
  return new Uint8Array(size).fill(byte)
}

/** Returns the same bytes each time. */
export function noise(size: number, seed: number): Uint8Array {
  let state = seed
  return Uint8Array.from({ length: size }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state >> 16
  })
}

export function latin1(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'latin1'))
}

export function utf16(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(`\ufeff${text}`, 'utf16le'))
}
