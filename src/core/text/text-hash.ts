const DIGEST = new Uint8Array(16)
const DIGEST_VIEW = new DataView(DIGEST.buffer)

/** 31 bits, the same as the database computes by `hashSql`. */
export function textHash(text: string): number {
  Bun.MD5.hash(text.toWellFormed(), DIGEST)
  return DIGEST_VIEW.getUint32(12, true) >>> 1
}

export function hashSql(column: string): string {
  return `(md5_number_lower(${column}) >> 33)::INTEGER`
}
