/** Shared by the build and the launcher. */
import { closeSync, openSync, readSync } from 'node:fs'

const PIECE_BYTES = 256 * 1024

/**
 * Ten times faster than a digest. `Bun.mmap` would be as fast, but it opens files for writing, which fails in a
 * container with a read-only root.
 */
export function checksumOf(path: string): string {
  const piece = Buffer.allocUnsafeSlow(PIECE_BYTES)
  const file = openSync(path, 'r')
  try {
    let sum = 0n
    for (;;) {
      const count = readSync(file, piece, 0, PIECE_BYTES, null)
      if (count === 0) return sum.toString(16)
      sum = Bun.hash.xxHash3(piece.subarray(0, count), sum)
    }
  } finally {
    closeSync(file)
  }
}
